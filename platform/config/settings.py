"""Settings of the site, read once from the environment.

With nothing set the site runs **embedded**: SQLite, files, the broker and a generated secret key in
`PODIUM_DATA_DIR` (default `var/podium`). Setting `DATABASE_URL` means production: then the secret key and the
allowed hosts must be given, and a missing one stops the start. `NAME_FILE` wins over `NAME`, for secrets by file.
"""

import gc
import ipaddress
import os
import re
import secrets
from pathlib import Path

import django_stubs_ext
import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from config import identity_providers
from core.branding import Brand, check_brand
from core.logs import configure_structlog, logging_config
from workers.protocol.images import ImageNameInvalid, parse_image

# What is imported stays: to look through hundreds of thousands of objects for garbage, again and again, is a fifth of each start.
gc.set_threshold(10_000)
django_stubs_ext.monkeypatch()  # lets classes name their type: ModelAdmin[Run]

BASE_DIR = Path(__file__).resolve().parents[2]
env = environ.FileAwareEnv()

EMBEDDED = not env.str("DATABASE_URL", default="")
DEBUG = env.bool("PODIUM_DEBUG", default=False)
SHOW_STYLEGUIDE = DEBUG
# Processes of the site start in different folders: a relative one is meant from the checkout.
DATA_DIR: Path = (BASE_DIR / env.str("PODIUM_DATA_DIR", default="var/podium")).resolve()
SITE_URL = env.str("PODIUM_SITE_URL", default="http://127.0.0.1:8000").rstrip("/")
HTTPS = SITE_URL.startswith("https://")
BEHIND_PROXY = env.bool("PODIUM_BEHIND_PROXY", default=False)
# How many last entries of X-Forwarded-For the site believes. Without a proxy anybody can write that header.
PROXIES = 1 if BEHIND_PROXY else 0


def embedded_secret_key() -> str:
    """The key of an embedded site: made at the first start, kept in a file that its owner alone can read."""
    path = DATA_DIR / "secret_key"
    DATA_DIR.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:  # made at an earlier start
        return path.read_text()
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_urlsafe(48))
    return path.read_text()


SECRET_KEY = env.str("PODIUM_SECRET_KEY", default="") or (embedded_secret_key() if EMBEDDED else "")
if len(SECRET_KEY) < 32:
    raise ImproperlyConfigured(
        "Set PODIUM_SECRET_KEY or PODIUM_SECRET_KEY_FILE to 32 or more random characters (`make secret` prints one)."
    )
ALLOWED_HOSTS = env.list("PODIUM_ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"] if EMBEDDED else [])
if not ALLOWED_HOSTS:
    raise ImproperlyConfigured("Set PODIUM_ALLOWED_HOSTS to the site's host names, separated by commas.")
CSRF_TRUSTED_ORIGINS = [SITE_URL]

INSTALLED_APPS = [
    "config",
    "core",
    "accounts",
    "audit",
    "competitions.resources",
    "competitions.compute",
    "competitions.catalog",
    "competitions.notifications",
    "competitions.teams",
    "competitions.webhooks",
    "competitions.factsheets",
    "competitions.environments",
    "competitions.submissions",
    "competitions.runs",
    "competitions.leaderboards",
    "competitions.winners",
    "competitions.discussions",
    "competitions.bundles",
    "competitions.people",
    "competitions.api",
    "competitions.codabench_api",
    "competitions.web",
    "competitions.organize",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.sitemaps",
    "django.contrib.humanize",  # pages of allauth.mfa use it
    "csp",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    *identity_providers.APPS,
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
]

MIDDLEWARE = [
    "config.health.HealthMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_permissions_policy.PermissionsPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "competitions.web.public_demo.ReadOnlyMiddleware",  # of a public demo alone
    "competitions.web.refusals.BodyMiddleware",  # before whatever reads a body
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",  # of every page that is not marked otherwise
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "competitions.web.second_factor.SecondFactorMiddleware",
    "audit.middleware.AuditMiddleware",
    "core.addresses.NulMiddleware",
    "competitions.web.refusals.RefusalMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "platform" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "competitions.web.refusals.entered",
                "core.branding.brand_context",
                "competitions.web.documentation.help_pages.help_context",
            ]
        },
    }
]

# --- the site's own look --------------------------------------------------------------------------------------------
_own = Brand()
_logo = env.str("PODIUM_SITE_LOGO", default="")
BRAND = check_brand(
    Brand(
        name=env.str("PODIUM_SITE_NAME", default=_own.name),
        summary=env.str("PODIUM_SITE_SUMMARY", default=_own.summary),
        footer=env.str("PODIUM_SITE_FOOTER", default=""),
        accent=env.str("PODIUM_ACCENT", default=""),
        accent_dark=env.str("PODIUM_ACCENT_DARK", default=""),
        logo=Path(_logo) if _logo else None,
        legal={
            name: source
            for name, source in (
                ("imprint", env.str("PODIUM_IMPRINT", default="")),
                ("privacy", env.str("PODIUM_PRIVACY", default="")),
            )
            if source
        },
    )
)

# --- database -------------------------------------------------------------------------------------------------------
DATABASES = {"default": env.db("DATABASE_URL", default=f"sqlite:///{DATA_DIR / 'podium.sqlite3'}")}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",  # writers queue instead of failing on upgrade
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
else:
    DATABASES["default"].setdefault("CONN_MAX_AGE", 600)
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# Pages ask short questions with many joins; compiling them (PostgreSQL's JIT) took up to 0.2 s where the answer took 0.2 ms.
# libpq as the driver's wheel has it asks Kerberos at each connection, and crashes now and then when threads do so at once
# (psycopg#1213). Encryption is TLS's work here, by `sslmode` in DATABASE_URL.
POSTGRES_OPTIONS = {"options": "-c jit=off", "gssencmode": "disable"}
if "postgresql" in DATABASES["default"]["ENGINE"]:
    DATABASES["default"].setdefault("OPTIONS", {}).update(POSTGRES_OPTIONS)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- files ----------------------------------------------------------------------------------------------------------
STORE_URL = env.str("PODIUM_STORE_URL", default=(DATA_DIR / "objects").as_uri())
# Internal location from which the front serves the folder of the objects; empty: files pass through the site.
STORE_FRONT_LOCATION = env.str("PODIUM_STORE_FRONT_LOCATION", default="")
UPLOADS_DIR = DATA_DIR / "uploads"
STORAGES = {"staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}}
STATIC_URL = "/static/"
STATIC_ROOT = Path(env.str("PODIUM_STATIC_DIR", default=str(DATA_DIR / "static")))
STATICFILES_DIRS = [BASE_DIR / "platform" / "static"]
DOCS_DIR = BASE_DIR / "var" / "docs"  # what `make docs` builds, a part of the image
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024
# Uploaded files go to disk at once, never to memory, and only where a view takes some.
FILE_UPLOAD_HANDLERS = ["core.serving.receiving.DeclaredFilesHandler"]
# Bodies that the whole site receives at a time.
RECEIVING_BYTES = env.int("PODIUM_RECEIVING_BYTES", default=20 * 1024**3)
UPLOAD_MAX_BYTES = env.int("PODIUM_UPLOAD_MAX_BYTES", default=10 * 1024**3)
UPLOADS_PER_HOUR = env.int("PODIUM_UPLOADS_PER_HOUR", default=300)  # of one person
UPLOAD_ROOM_BYTES = env.int("PODIUM_UPLOAD_ROOM_BYTES", default=100 * 1024**3)  # of one person's uploads of a day
TEAM_STORAGE_BYTES = env.int("PODIUM_TEAM_STORAGE_BYTES", default=100 * 1024**3)  # of one team's submitted files
ORGANIZER_STORAGE_BYTES = env.int("PODIUM_ORGANIZER_STORAGE_BYTES", default=200 * 1024**3)
# Weights and container images of teams: one file, one team's files together, and how long they stay without use.
ENVIRONMENT_FILE_MAX_BYTES = env.int("PODIUM_ENVIRONMENT_FILE_MAX_BYTES", default=50 * 1024**3)
TEAM_ENVIRONMENT_BYTES = env.int("PODIUM_TEAM_ENVIRONMENT_BYTES", default=100 * 1024**3)
ENVIRONMENT_FILES_KEPT_DAYS = env.int("PODIUM_ENVIRONMENT_FILES_KEPT_DAYS", default=180)
IMAGE_CHECK_WALL_S = env.int("PODIUM_IMAGE_CHECK_WALL_S", default=3600)
IMAGE_PLATFORM = env.str("PODIUM_IMAGE_PLATFORM", default="linux/amd64")
UPLOAD_EXPIRES_S = env.int("PODIUM_UPLOAD_EXPIRES_S", default=24 * 3600)

# --- people ---------------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["accounts.sign_in.PeopleBackend"]
ACCOUNT_ADAPTER = "accounts.sign_in.AccountAdapter"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_FORMS = {
    "login": "accounts.sign_in.SignInForm",
    "signup": "accounts.sign_in.SignUpForm",
    "change_password": "accounts.sign_in.PasswordChangeForm",
    "reset_password_from_key": "accounts.sign_in.NewPasswordForm",
    "reauthenticate": "accounts.sign_in.ConfirmPasswordForm",
}
ACCOUNT_LOGIN_METHODS = {"email", "username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""  # the sender says who writes
ACCOUNT_UNIQUE_EMAIL = True
ACCOUNT_CONFIRM_EMAIL_ON_GET = False
ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if HTTPS else "http"
ACCOUNT_USERNAME_VALIDATORS = "accounts.people.lookup.USERNAME_VALIDATORS"
ACCOUNT_USERNAME_BLACKLIST = [  # taken for the site's own people; `accounts/people/profiles.py` refuses them as names, too
    "admin",
    "administrator",
    "moderator",
    "organizer",
    "organizers",
    "the organizers",
    "podium",
    "root",
    "support",
    "system",
    "deleted account",
]
ACCOUNT_SESSION_REMEMBER = None
# Whoever finds an open browser takes nothing away: addresses and tokens ask for the password again, and owners hear of changes.
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ALLAUTH_TRUSTED_PROXY_COUNT = PROXIES  # sign-in attempts are counted by the address of the person
# Who hosts competitions besides organizers, whom administrators make: everybody, whoever asks and is let, or nobody.
HOSTS = env.str("PODIUM_HOSTS", default="on_request")
if HOSTS not in ("everybody", "on_request", "staff"):
    raise ImproperlyConfigured("PODIUM_HOSTS is one of everybody, on_request and staff.")
# GitHub, ORCID and an OpenID Connect provider, where they are set. An address that a provider confirmed needs no letter.
# Nobody enters an account by an equal address alone: who has one signs in to it and connects the other site.
_identity = {
    name: env.str(name, default="")
    for name in (
        "PODIUM_GITHUB_ID",
        "PODIUM_GITHUB_SECRET",
        "PODIUM_ORCID_ID",
        "PODIUM_ORCID_SECRET",
        "PODIUM_OIDC_ID",
        "PODIUM_OIDC_SECRET",
        "PODIUM_OIDC_ISSUER",
        "PODIUM_OIDC_NAME",
        "PODIUM_OIDC_SIGN_IN",
    )
}
SOCIALACCOUNT_PROVIDERS = identity_providers.identity_providers(_identity)
SOCIALACCOUNT_ADAPTER = "accounts.sign_in.ConnectedAccountAdapter"
SOCIALACCOUNT_REQUESTS_TIMEOUT = 10  # seconds
# A Discourse whose people sign in here (DiscourseConnect): its address, and the secret that its settings have, too.
DISCOURSE_URL = env.str("PODIUM_DISCOURSE_URL", default="").rstrip("/")
DISCOURSE_SECRET = env.str("PODIUM_DISCOURSE_SECRET", default="")
if bool(DISCOURSE_URL) != bool(DISCOURSE_SECRET):
    raise ImproperlyConfigured("Set PODIUM_DISCOURSE_URL and PODIUM_DISCOURSE_SECRET together, or none of them.")
if DISCOURSE_URL and (not DISCOURSE_URL.startswith(("https://", "http://")) or len(DISCOURSE_SECRET) < 16):
    raise ImproperlyConfigured(
        "PODIUM_DISCOURSE_URL is an address that begins with https://, and PODIUM_DISCOURSE_SECRET has 16 or more characters."
    )
# A public demo: these accounts need no password and change nothing. `manage.py demo` begins anew each day at this time, UTC.
PUBLIC_DEMO = env.bool("PODIUM_DEMO", default=False)
DEMO_ACCOUNTS = env.list("PODIUM_DEMO_ACCOUNTS", default=["ada", "organizer"])
DEMO_RESET = env.str("PODIUM_DEMO_RESET", default="03:00")
if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", DEMO_RESET):
    raise ImproperlyConfigured("PODIUM_DEMO_RESET is a time of day in UTC, such as 03:00.")
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not HTTPS  # browsers themselves allow that at localhost alone
MFA_TOTP_ISSUER = BRAND.name
# Organizers and administrators have to sign in with a second factor.
REQUIRE_STAFF_MFA = env.bool("PODIUM_REQUIRE_STAFF_MFA", default=not EMBEDDED)
EMAIL_CONFIG = env.email_url("PODIUM_EMAIL_URL", default=f"filemail:///{DATA_DIR / 'mail'}")
vars().update(EMAIL_CONFIG)
EMAIL_DELIVERY_BACKEND = EMAIL_CONFIG["EMAIL_BACKEND"]  # what background processes deliver with
EMAIL_BACKEND = "accounts.outbox.OutboxBackend"
EMAIL_TIMEOUT = 10  # seconds
DEFAULT_FROM_EMAIL = env.str("PODIUM_FROM_EMAIL", default="Podium <podium@localhost>")

# --- Celery: wakes compute workers, names rows to background processes ------------------------------------------------
BROKER_URL = env.str("PODIUM_BROKER_URL", default=f"filesystem://{DATA_DIR / 'broker'}" if EMBEDDED else "")
if not BROKER_URL:
    raise ImproperlyConfigured("Set PODIUM_BROKER_URL, for example redis://redis:6379/0.")


# --- background work ------------------------------------------------------------------------------------------------
def open_networks(names: list[str]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Networks in CIDR notation, to which webhooks may go although they are private."""
    try:
        return [ipaddress.ip_network(name.strip()) for name in names]
    except ValueError as error:
        raise ImproperlyConfigured(
            f"PODIUM_WEBHOOK_NETWORKS: {error}. Name networks such as 10.20.0.0/16, separated by commas."
        ) from error


WEBHOOK_NETWORKS = open_networks(env.list("PODIUM_WEBHOOK_NETWORKS", default=[]))
# A process that is silent for longer is taken for dead.
BACKGROUND_LEASE_S = env.float("PODIUM_BACKGROUND_LEASE_S", default=20)
BACKGROUND_ATTEMPTS = env.int("PODIUM_BACKGROUND_ATTEMPTS", default=3)
ROBOT_WAIT_S = env.float("PODIUM_ROBOT_WAIT_S", default=5)  # how long a call of Codabench's API waits for such work
CHECK_WALL_S = env.float("PODIUM_CHECK_WALL_S", default=300)
CHECK_CPU_S = env.int("PODIUM_CHECK_CPU_S", default=120)
IMPORT_WALL_S = env.float("PODIUM_IMPORT_WALL_S", default=1800)
IMPORT_CPU_S = env.int("PODIUM_IMPORT_CPU_S", default=600)
CHECK_MEMORY_BYTES = env.int("PODIUM_CHECK_MEMORY_BYTES", default=2 * 1024**3)
REFUSED_FILES_PER_DAY = env.int("PODIUM_REFUSED_FILES_PER_DAY", default=20)  # of one team
SCORING_ERRORS_PER_DAY = env.int("PODIUM_SCORING_ERRORS_PER_DAY", default=20)  # of one team: they cost no quota
SMOKE_RUNS_PER_DAY = env.int("PODIUM_SMOKE_RUNS_PER_DAY", default=20)  # of one team, that nothing was charged for

# --- runs -----------------------------------------------------------------------------------------------------------
LEASE_S = env.int("PODIUM_LEASE_S", default=90)
HEARTBEAT_S = env.int("PODIUM_HEARTBEAT_S", default=15)
RECONCILE_S = env.float("PODIUM_RECONCILE_S", default=15)
WORKER_POLL_S = env.float("PODIUM_WORKER_POLL_S", default=2)
MAX_ATTEMPTS = env.int("PODIUM_MAX_ATTEMPTS", default=3)
# Before the second, third, ... attempt after a fault of ours; the last one stands for all further attempts.
RETRY_PAUSES_S = tuple(env.list("PODIUM_RETRY_PAUSES_S", cast=float, default=[0, 60, 300]))
LOG_LIMIT_BYTES = env.int("PODIUM_LOG_LIMIT_BYTES", default=1_000_000)  # per run and stream, in the database
# Give no runs to a worker that has not shown by its self-test that the limits hold on its host.
REQUIRE_SELF_TEST = env.bool("PODIUM_REQUIRE_SELF_TEST", default=False)
try:
    DEFAULT_IMAGE = str(parse_image(env.str("PODIUM_DEFAULT_IMAGE", default="podium/runtime:1")))
except ImageNameInvalid as error:
    raise ImproperlyConfigured(f"PODIUM_DEFAULT_IMAGE: {error}") from error
if HEARTBEAT_S * 2 > LEASE_S:
    raise ImproperlyConfigured("PODIUM_LEASE_S must be at least twice PODIUM_HEARTBEAT_S, or one lost beat ends a run.")

# Days after a run's end that its live log and its output files are kept; 0: for ever.
KEEP_LOGS_DAYS = env.int("PODIUM_KEEP_LOGS_DAYS", default=0)
KEEP_OUTPUTS_DAYS = env.int("PODIUM_KEEP_OUTPUTS_DAYS", default=0)

METRICS_TOKEN = env.str("PODIUM_METRICS_TOKEN", default="")  # empty: no metrics

# --- cache ----------------------------------------------------------------------------------------------------------
CACHES = {
    "default": env.cache(
        "PODIUM_CACHE_URL", default=f"filecache://{DATA_DIR / 'cache'}" if EMBEDDED else "locmemcache://"
    ),
    "database": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "core_cache"},
    # Rendered pages that are the same for everybody, by ETag; each process keeps its own.
    "pages": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "pages",
        "TIMEOUT": 3600,
        "OPTIONS": {"MAX_ENTRIES": 200},
    },
}

if CACHES["default"]["BACKEND"] == "django.core.cache.backends.redis.RedisCache":
    CACHES["default"]["BACKEND"] = "core.shared_cache.RedisOrDatabaseCache"
    CACHES["default"]["OPTIONS"] = {"socket_connect_timeout": 0.5, "socket_timeout": 1} | CACHES["default"].get(
        "OPTIONS", {}
    )

# --- API ------------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "competitions.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticatedOrReadOnly"],
    "DEFAULT_PARSER_CLASSES": [
        "competitions.api.framework.JSONParser",
        "rest_framework.parsers.FormParser",
        "rest_framework.parsers.MultiPartParser",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_METADATA_CLASS": "competitions.api.framework.ViewMetadata",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "competitions.api.problems.exception_handler",
    "DEFAULT_THROTTLE_CLASSES": [
        "rest_framework.throttling.AnonRateThrottle",
        "competitions.api.framework.AccountRateThrottle",
    ],
    "DEFAULT_THROTTLE_RATES": {
        "anon": env.str("PODIUM_API_RATE_ANON", default="600/min"),
        "user": env.str("PODIUM_API_RATE_USER", default="1200/min"),
    },
    "NUM_PROXIES": PROXIES,
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Podium API",
    "VERSION": "1",
    "DESCRIPTION": "Competitions, teams, uploads, submissions and leaderboards. "
    "Errors are `application/problem+json` with a stable `code`.",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "PREPROCESSING_HOOKS": ["competitions.api.views.schema.native_api_only"],
    "ENUM_NAME_OVERRIDES": {
        "SubmissionKind": "competitions.submissions.states.Kind",
        "RunState": "competitions.submissions.states.State",
        "RegistrationState": "competitions.teams.models.Registration.State",
        "OfferState": "competitions.teams.models.OfferState",
        "ColumnKind": "competitions.catalog.models.Column.Kind",
        "PhaseVisibility": "competitions.catalog.models.Phase.Visibility",
        "BoardVisibility": "competitions.catalog.models.Leaderboard.Visibility",
    },
}

# --- security -------------------------------------------------------------------------------------------------------
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
CSRF_FAILURE_VIEW = "competitions.web.refusals.csrf_failure"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_SSL_REDIRECT = HTTPS and env.bool("PODIUM_SSL_REDIRECT", default=True)
SECURE_HSTS_SECONDS = 31536000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS and env.bool("PODIUM_HSTS_PRELOAD", default=False)
SECURE_REFERRER_POLICY = "same-origin"
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "frame-src": [SELF],  # the page with a submission's details, which brings a policy of its own
        "form-action": [
            SELF,
            *identity_providers.sign_in_origins(_identity),
            *(["/".join(DISCOURSE_URL.split("/")[:3])] if DISCOURSE_URL else []),  # the form to sign in may lead there
        ],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "manifest-src": [SELF],
    }
}
PERMISSIONS_POLICY: dict[str, list[str]] = {
    name: [] for name in ("camera", "geolocation", "microphone", "payment", "usb")
}

# --- language, time, logs -------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False  # English alone: no page has to find out its language
FORMAT_MODULE_PATH = "config.formats"
USE_TZ = True
LOGGING = logging_config(env.str("PODIUM_LOG_LEVEL", default="INFO"))
configure_structlog()
