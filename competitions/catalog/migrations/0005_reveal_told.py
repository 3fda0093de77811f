from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0004_sealing"),
    ]

    operations = [
        migrations.AddField(
            model_name="phase",
            name="reveal_told_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    ]
