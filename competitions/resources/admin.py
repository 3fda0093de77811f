"""Files that competitions use, uploaded in the admin and kept by digest."""

from pathlib import Path
from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat

from accounts.models import User
from competitions.resources.models import Resource
from competitions.resources.rooms import upload_room
from competitions.resources.storage import spooled, store_path
from competitions.resources.uploads import clean_file_name
from competitions.resources.versions import (
    RESOURCE_LIMITS,
    UNPACKED_KINDS,
    StorageQuotaUsed,
    count_uses,
    require_room,
    resource_replace,
    storage_used,
)
from core.guarded_admin import GuardedAdmin
from core.refusals import InvalidFile
from core.serving.receiving import announced_bytes
from files.archives import check_directory
from files.text import is_number

EDITED: Final = ["name", "is_public", "shared_with", "upload"]
SHOWN: Final = ["kind", "file_name", "file", "owner", "key", "replaces"]


class ResourceForm(forms.ModelForm[Resource]):
    """A new resource comes with its file; an existing one never changes its bytes."""

    owner: User
    upload = forms.FileField(required=True, help_text="Programs and datasets are zip archives.")

    class Meta:
        model = Resource
        fields = ["name", "kind"]

    def clean_upload(self) -> TemporaryUploadedFile:
        """Refuse here what no worker could unpack, as far as its headers tell, not in everybody's first run."""
        return _check_upload(self)


def _check_upload(form: "ResourceForm | VersionForm") -> TemporaryUploadedFile:
    upload: TemporaryUploadedFile = form.cleaned_data["upload"]  # the upload handler always writes to disk
    if not upload:
        return upload
    try:
        require_room(form.owner, upload.size or 0)
        if (form.cleaned_data.get("kind") or form.instance.kind) in UNPACKED_KINDS:
            check_directory(
                Path(upload.temporary_file_path()), limits=RESOURCE_LIMITS, what=f"The file {upload.name!r}"
            )
    except (InvalidFile, StorageQuotaUsed) as refusal:
        raise forms.ValidationError(refusal.detail, code=refusal.code) from refusal
    return upload


class VersionForm(forms.ModelForm[Resource]):
    """An existing resource; a file that is given makes a new version of it."""

    owner: User
    upload = forms.FileField(
        required=False,
        label="new version",
        help_text="Tasks and phases of your competitions use it from then on; runs that were are not touched. To score them again, "
        "choose the task and “Run again what ran with old versions”.",
    )

    class Meta:
        model = Resource
        fields = ["name", "is_public", "shared_with"]

    def clean_upload(self) -> TemporaryUploadedFile:
        """As for a new resource."""
        return _check_upload(self)


@admin.register(Resource)
class ResourceAdmin(GuardedAdmin):
    """An organizer's own files."""

    list_display = ["name", "kind", "file_name", "owner", "created_at"]
    list_select_related = ["owner"]
    search_fields = ["name"]

    def body_room(self, request: HttpRequest) -> int | None:
        """Room for a program or data. Raises the refusal of an upload, or `StorageQuotaUsed`."""
        assert isinstance(request.user, User), "asked of who is signed in"
        if not self.has_module_permission(request):
            return None
        require_room(request.user, announced_bytes(request))
        return upload_room(request, request.user)

    def get_list_filter(self, request: HttpRequest) -> Any:
        return ["kind", ("owner", admin.RelatedOnlyFieldListFilter)] if request.user.is_superuser else ["kind"]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> Any:
        return super().changelist_view(request, {"subtitle": self._room(request)} | (extra_context or {}))

    def _room(self, request: HttpRequest) -> str:
        """The room that the person's files take; for an administrator, those of the chosen owner."""
        assert isinstance(request.user, User), "the admin lets nobody else in"
        owner_id = request.GET.get("owner__id__exact", "")
        chosen = (
            User.objects.filter(pk=int(owner_id)).first() if request.user.is_superuser and is_number(owner_id) else None
        )
        owner = chosen or request.user
        limit = "" if owner.is_superuser else f" of {filesizeformat(settings.ORGANIZER_STORAGE_BYTES)}"
        return f"The files of {owner} take {filesizeformat(storage_used(owner))}{limit}; the same content counts once."

    def get_form(self, request: HttpRequest, obj: Resource | None = None, change: bool = False, **kwargs: Any) -> Any:
        kwargs["form"] = ResourceForm if obj is None else VersionForm
        form = super().get_form(request, obj, change, **kwargs)
        form.owner = request.user  # whose room it takes
        return form

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs["queryset"] = User.objects.filter(is_staff=True, is_active=True)  # nobody else could use it
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def get_fields(self, request: HttpRequest, obj: Resource | None = None) -> Any:
        return ["name", "kind", "upload"] if obj is None else [*EDITED, *SHOWN]

    def get_readonly_fields(self, request: HttpRequest, obj: Resource | None = None) -> list[str]:
        return [] if obj is None else SHOWN

    def save_model(self, request: HttpRequest, obj: Resource, form: Any, change: bool) -> None:
        if not change:
            assert isinstance(request.user, User), "the admin lets nobody else in"
            upload = form.cleaned_data["upload"]
            with spooled(upload.chunks()) as path:
                obj.file = store_path(path)
            obj.file_name, obj.owner = clean_file_name(upload.name), request.user
        super().save_model(request, obj, form, change)
        if change and form.cleaned_data.get("upload"):
            self._new_version(request, obj, form.cleaned_data["upload"])

    def _new_version(self, request: HttpRequest, obj: Resource, upload: TemporaryUploadedFile) -> None:
        with spooled(upload.chunks()) as path:
            file = store_path(path)
        fresh = resource_replace(
            resource=obj,
            file=file,
            file_name=clean_file_name(upload.name or "file.zip"),
            may_change=lambda row: self.admin_site.get_model_admin(type(row)).has_change_permission(request, row),
        )
        self.message_user(
            request,
            f"Version {fresh.key} is in use. Runs that were keep the one they had; the tasks can run them again.",
        )
        if left := count_uses(obj):
            self.message_user(
                request,
                f"In competitions that you do not organize it is named {left} times; those keep the version that they have.",
                messages.WARNING,
            )

    def _is_mine(self, request: HttpRequest, obj: Model | None) -> bool:
        user = request.user
        own = obj is None or user.is_superuser or (isinstance(obj, Resource) and obj.owner_id == user.pk)
        return user.is_active and user.is_staff and own

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._is_mine(request, None)

    def has_view_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        return self._is_mine(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._is_mine(request, None)

    def has_change_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        return self._is_mine(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Resource | None = None) -> bool:
        return self._is_mine(request, obj)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Resource]:
        rows = Resource.objects.all()
        return rows if request.user.is_superuser else rows.filter(owner_id=request.user.pk)
