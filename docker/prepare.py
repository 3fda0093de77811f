"""Prepares each start of the stack: database tables, folders, the worker's token.

Safe to run again. The compute worker's queue token is made outside (`make secrets`), because two containers need it.
"""

import os
import sys
from pathlib import Path

import django
from django.conf import settings


def main() -> None:
    django.setup()
    from competitions.compute.models import Queue, digest
    from config.schema import UnknownSchema, upgrade_database

    try:
        upgrade_database(verbosity=1)
    except UnknownSchema as error:
        sys.exit(str(error))
    if "TMPDIR" in os.environ:
        Path(os.environ["TMPDIR"]).mkdir(exist_ok=True)
    token = Path(os.environ["PODIUM_QUEUE_TOKEN_FILE"]).read_text().strip()
    queue, made = Queue.objects.update_or_create(name="default", defaults={"token_digest": digest(token)})
    print(f"queue {queue.name} {'made' if made else 'is there'}; data in {settings.DATA_DIR}")


if __name__ == "__main__":
    main()
