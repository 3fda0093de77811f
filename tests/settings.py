"""The site's own settings, with a data folder of this test run and cheap password hashes."""

import os
import sys

from tests.services import REPOSITORY, run_folder

sys.path.insert(0, str(REPOSITORY / "platform"))
worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
os.environ["PODIUM_DATA_DIR"] = str(run_folder() / f"data-{worker}")
os.environ["PODIUM_SECRET_KEY"] = "the tests' key, which protects nothing and nobody"
for name in ("DATABASE_URL", "PODIUM_BROKER_URL", "PODIUM_SITE_URL", "PODIUM_EMAIL_URL"):
    os.environ.pop(name, None)  # a production environment on this machine must not reach the tests
os.environ["PODIUM_CACHE_URL"] = "locmemcache://"  # one process; in files it would be written at each call of the API

from config.settings import *  # noqa: E402, F403
from config.settings import STORAGES  # noqa: E402

DOCS_DIR = run_folder() / "docs"  # none, but for those that a test writes
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # hashing is slow by design
STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
from config.settings import STATIC_ROOT  # noqa: E402

STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # WhiteNoise warns when there is nothing to serve
ROBOT_WAIT_S = 0  # nothing works in the background of these tests
