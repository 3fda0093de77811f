"""The WSGI application: `gunicorn podium.wsgi`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "podium.settings")
application = get_wsgi_application()
