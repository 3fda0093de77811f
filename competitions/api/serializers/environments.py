"""Weights and images of teams: what clients say and are answered."""

from typing import Any

from rest_framework import serializers

from competitions.environments.models import EnvironmentFile


class EnvironmentFileIn(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=60)
    upload = serializers.UUIDField(help_text="Key of a finished upload that was announced with `is_environment`.")


class EnvironmentFileOut(serializers.ModelSerializer[EnvironmentFile]):
    """`reference` is what a submission names it by; `code` and `detail` say why it was refused or removed."""

    reference = serializers.CharField()
    uploaded_by = serializers.CharField(source="uploaded_by.username")

    class Meta:
        model = EnvironmentFile
        fields = [
            "key",
            "kind",
            "name",
            "version",
            "reference",
            "state",
            "code",
            "detail",
            "file_name",
            "size_bytes",
            "sha256",
            "image_id",
            "facts",
            "uploaded_by",
            "created_at",
            "last_used_at",
        ]
