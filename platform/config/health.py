"""`/healthz`: the process answers. `/readyz`: it can serve, because database and storage answer."""

import os

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from competitions.resources.stores import object_store


def alive(request: HttpRequest) -> JsonResponse:
    """200 as long as the process can answer; asks nothing else, so that a slow database does not restart web processes."""
    return JsonResponse({"status": "ok"})


def ready(request: HttpRequest) -> JsonResponse:
    """200 when the database answers and data folder and object store can be written, else 503 with what is missing."""
    faults = []
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, OSError) as error:
        faults.append(f"database: {type(error).__name__}")
    if not os.access(settings.DATA_DIR, os.W_OK):
        faults.append("data folder: not writable")
    if not object_store().is_writable():
        faults.append("object store: not writable")
    return JsonResponse(
        {"status": "ready" if not faults else "not ready", "faults": faults}, status=503 if faults else 200
    )
