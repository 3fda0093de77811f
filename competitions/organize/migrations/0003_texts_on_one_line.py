"""Control characters leave titles and names that were stored before they were refused."""

from typing import Any

from django.db import IntegrityError, migrations, transaction

from files.text import has_control_characters, on_one_line

FIELDS = {
    ("accounts", "ApiToken"): ("name",),
    ("accounts", "User"): ("first_name", "last_name", "affiliation"),
    ("bundles", "BundleImport"): ("file_name",),
    ("catalog", "Announcement"): ("title",),
    ("catalog", "Column"): ("key", "spread_key", "title", "unit"),
    ("catalog", "Competition"): ("title", "subtitle", "host", "tag_line", "docker_image", "reward"),
    ("catalog", "ImageUpload"): ("name",),
    ("catalog", "Leaderboard"): ("title",),
    ("catalog", "Page"): ("title",),
    ("catalog", "PageImage"): ("name",),
    ("catalog", "Phase"): ("docker_image", "text_files", "name"),
    ("catalog", "SealedKey"): ("key",),
    ("catalog", "Series"): ("title", "subtitle"),
    ("catalog", "Task"): ("name",),
    ("compute", "ComputeWorker"): ("name", "version"),
    ("compute", "Queue"): ("name", "contact", "package_mirror"),
    ("environments", "EnvironmentFile"): ("name", "file_name"),
    ("factsheets", "Question"): ("key", "title", "help_text", "compared_with"),
    ("organize", "DraftFile"): ("role", "file_name"),
    ("organize", "OrganizersMail"): ("subject",),
    ("resources", "Resource"): ("name", "file_name"),
    ("resources", "Upload"): ("file_name",),
    ("submissions", "Dataset"): ("name",),
    ("submissions", "Submission"): ("file_name", "idempotency_key", "image_reference"),
    ("teams", "RegistrationQuestion"): ("key", "title", "help_text"),
    ("teams", "Team"): ("name",),
    ("winners", "Place"): ("commit", "code_name"),
}


def put_on_one_line(apps: Any, schema_editor: Any) -> None:
    """Each control character becomes a blank; where another row has that name already, the row's number is added."""
    for (label, name), fields in FIELDS.items():
        model = apps.get_model(label, name)
        for row in model._base_manager.values("pk", *fields).iterator():
            changed = {field: on_one_line(row[field]) for field in fields if has_control_characters(row[field] or "")}
            if changed:
                rewrite(model, row["pk"], changed)


def rewrite(model: Any, pk: Any, changed: dict[str, str]) -> None:
    """Write the fields of one row."""
    rows = model._base_manager.filter(pk=pk)
    try:
        with transaction.atomic():
            rows.update(**changed)
    except IntegrityError:
        rows.update(**{field: f"{text[:40].rstrip()} {pk}" for field, text in changed.items()})


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_background_turns"),
        ("bundles", "0002_background_turns"),
        ("catalog", "0003_written_html"),
        ("compute", "0001_initial"),
        ("environments", "0002_background_turns"),
        ("factsheets", "0001_initial"),
        ("organize", "0002_background_turns"),
        ("resources", "0002_background_turns"),
        ("submissions", "0002_background_turns"),
        ("teams", "0001_initial"),
        ("winners", "0001_initial"),
    ]

    operations = [migrations.RunPython(put_on_one_line, migrations.RunPython.noop)]
