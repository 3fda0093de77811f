"""Programs and data of organizers, for administrators to look at."""

from django.contrib import admin

from competitions.resources.models import Resource
from core.guarded_admin import ReadOnlyAdmin


@admin.register(Resource)
class ResourceAdmin(ReadOnlyAdmin):
    list_display = ["name", "kind", "file_name", "owner", "created_at"]
    list_filter = ["kind", ("owner", admin.RelatedOnlyFieldListFilter)]
    list_select_related = ["owner"]
    search_fields = ["name"]
