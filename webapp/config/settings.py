"""Every setting, in one place. An operator sets some by the environment; the rest is fixed here."""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import urlsplit

import environ
from csp.constants import NONE, SELF

from webapp.config import environment
from webapp.core import logs, modes
from webapp.core.proxies import networks
from webapp.core.version import version

env = environ.Env()

BASE_DIR = Path(__file__).resolve().parents[2]
DATA_DIR = Path(env.str("DRAFTHOUSE_DATA", default=str(BASE_DIR / "data"))).expanduser().resolve()
with environment.writing(DATA_DIR):
    DATA_DIR.mkdir(mode=modes.FOLDER, parents=True, exist_ok=True)


def _secret(name: str) -> str:
    """Return a secret from the environment, else from the data folder, where the first start makes one that only its
    owner can read."""
    if given := environment.secret(f"DRAFTHOUSE_{name.upper()}"):
        return given
    folder = DATA_DIR / "secrets"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / name
    fresh = folder / f".{name}.{secrets.token_hex(8)}"
    if not path.exists():
        fresh.touch(mode=0o600, exist_ok=False)
        fresh.write_text(secrets.token_urlsafe(48))
        try:
            path.hardlink_to(fresh)  # atomic, and the first of two processes that start at once wins
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text().strip()


DEBUG = env.bool("DRAFTHOUSE_DEBUG", default=False)
with environment.writing(DATA_DIR):
    SECRET_KEY = _secret("secret_key")
    TOKEN_PEPPER = _secret("token_pepper")  # apart from the secret key, so that either can be changed alone

# Where it is reached -------------------------------------------------------------------------------------------------

LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
OWN_MACHINE = ["localhost", "127.0.0.0/8", "::1"]
ALLOWED_HOSTS = env.list("DRAFTHOUSE_HOSTS", default=LOCAL_HOSTS)
CSRF_TRUSTED_ORIGINS = env.list("DRAFTHOUSE_ORIGINS", default=[])
HTTPS = env.bool("DRAFTHOUSE_HTTPS", default=False)
# Proxies, as addresses or networks, whose X-Forwarded-For, -Proto and -Host are believed; nobody else's are.
PROXIES = networks(env.list("DRAFTHOUSE_PROXIES", default=[]))
ROOT_URLCONF = "webapp.config.urls"

# What it is made of --------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "csp",
    "webapp.core",
    "webapp.docs",
    "webapp.accounts",
    "webapp.jobs",
    "webapp.uploads",
    "webapp.registry",
    "webapp.studies",
    "webapp.comparisons",
    "webapp.sharing",
    "webapp.backup",
]
MIDDLEWARE = [
    "webapp.metrics.counting.count_requests",
    "webapp.core.middleware.request_id",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "webapp.core.middleware.keep_private",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "webapp.core.middleware.Slashes",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "webapp.accounts.middleware.actor",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": [
                "webapp.core.templatetags.trail",
                "webapp.core.templatetags.ui",
                "webapp.docs.templatetags.help",
            ],
        },
    }
]

# The database: SQLite in the data folder, or PostgreSQL ---------------------------------------------------------------

DATABASES = {"default": environment.database(DATA_DIR)}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    modes.tighten_database(Path(DATABASES["default"]["NAME"]))
    # Without these four, six writers at once lose one transaction in fifteen to "database is locked".
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA mmap_size=134217728;",
    }
    WEB_CONNECTIONS: dict[str, object] = {}
else:
    DATABASES["default"].setdefault("CONN_MAX_AGE", 60)
    DATABASES["default"].setdefault("CONN_HEALTH_CHECKS", True)
    # If the server's machine is gone, an error comes after seconds; TCP alone would take many minutes.
    DATABASES["default"]["OPTIONS"] = {
        "connect_timeout": 5,
        "tcp_user_timeout": 20_000,  # ms
        "keepalives_idle": 10,
        "keepalives_interval": 3,
        "keepalives_count": 3,
        **DATABASES["default"].get("OPTIONS", {}),
    }
    # Changes for the web process: each request has a thread of its own there, so 200 at once would open 200
    # connections, where PostgreSQL has 100 for everybody. They share 20 and wait their turn.
    # After 5 s without a connection, or 16 s without an answer, a request is told that the database is away.
    from webapp.core import postgres

    own = DATABASES["default"]["OPTIONS"]
    WEB_CONNECTIONS = {
        "CONN_MAX_AGE": 0,
        "OPTIONS": own
        | {
            "options": f"{own.get('options', '')} {postgres.SETTINGS}",
            "pool": {"min_size": 1, "max_size": 20, "timeout": 5, "connection_class": postgres.Impatient},
        },
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The broker. Without one, nothing wakes workers: jobs wait in the database until a worker sweeps ----------------------

REDIS_URL = environment.broker()
BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)  # Celery's spelling of a Unix socket
if BROKER_URL.startswith("rediss:") and "ssl_cert_reqs" not in BROKER_URL:  # or Celery would trust any certificate
    BROKER_URL += f"{'&' if '?' in BROKER_URL else '?'}ssl_cert_reqs=required"
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {"socket_timeout": 5},
    }
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}

CACHES["default"]["KEY_PREFIX"] = version()  # entries of another version may have another shape

# The channel layer only announces: watchers read from the database. It is our own, because the core one silently drops
# messages of a slow reader after 100.
CHANNEL_LAYERS = (
    {"default": {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [REDIS_URL]}}}
    if REDIS_URL
    else {}
)

# People --------------------------------------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "sign-in"

# Cookies and headers -------------------------------------------------------------------------------------------------

SESSION_COOKIE_NAME = "dh_session"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True  # as the session's is
CSRF_COOKIE_NAME = "dh_csrf"
CSRF_FAILURE_VIEW = "webapp.core.views.csrf_failure"
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

# Files ---------------------------------------------------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
with environment.writing(STATIC_ROOT):
    STATIC_ROOT.mkdir(exist_ok=True)
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "webapp.core.looks.LooksFinder",
]
STORAGES = {"staticfiles": {"BACKEND": "webapp.core.static.HashedStatic"}}
STORE_DIR = env.str("DRAFTHOUSE_STORE", default="")  # a folder that all machines see; empty: chunks in the data folder
CHUNK_BYTES = 8 * 1024 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = CHUNK_BYTES  # no body is longer than one chunk
DATA_UPLOAD_MAX_NUMBER_FIELDS = 500  # the form of a comparison, the longest there is, has about a hundred
DATA_UPLOAD_MAX_NUMBER_FILES = 1  # no form sends any: files come in chunks
MODEL_CACHE_BYTES = env.int("DRAFTHOUSE_MODEL_CACHE_GB", default=200) * 1024**3  # of models put together for workers
# With a bucket, chunks lie there instead of in the data folder, and browsers send them straight to it. boto3 reads keys
# from its usual places: AWS_ACCESS_KEY_ID and its kin, or the machine's role.
environment.lend("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
S3_BUCKET = env.str("DRAFTHOUSE_S3_BUCKET", default="")
S3_REGION = env.str("DRAFTHOUSE_S3_REGION", default="us-east-1")
S3_ENDPOINT = env.str("DRAFTHOUSE_S3_ENDPOINT", default="")  # empty: Amazon's own
S3_PUBLIC_ENDPOINT = env.str("DRAFTHOUSE_S3_PUBLIC_ENDPOINT", default=S3_ENDPOINT)  # as browsers reach it
if S3_BUCKET:
    CONTENT_SECURITY_POLICY["DIRECTIVES"]["connect-src"].append(
        "{0.scheme}://{0.netloc}".format(urlsplit(S3_PUBLIC_ENDPOINT))
        if S3_PUBLIC_ENDPOINT
        else f"https://{S3_BUCKET}.s3.{S3_REGION}.amazonaws.com"
    )
LEAST_FREE_BYTES = env.int("DRAFTHOUSE_LEAST_FREE_MB", default=256) * 1024**2  # on a disk; below that, /readyz says so
KEPT_DAYS = env.int("DRAFTHOUSE_KEPT_DAYS", default=365)  # records of what was: webapp/jobs/retention.py. 0: for ever
TEAM_QUOTA_BYTES = env.int("DRAFTHOUSE_TEAM_QUOTA_GB", default=200) * 1024**3
JOB_LIMIT_S = env.int("DRAFTHOUSE_JOB_HOURS", default=48) * 3600  # of an attempt at a job
# Addresses of servers that comparisons may ask. A service that answers only to localhost may ask its own machine.
SERVERS_ARE_USUAL = "DRAFTHOUSE_SERVERS" not in env
SERVERS = environment.servers(OWN_MACHINE if {*ALLOWED_HOSTS} <= {*LOCAL_HOSTS} else ())
SERVER_CERTIFICATES = env.str("DRAFTHOUSE_SERVER_CERTIFICATES", default="")  # PEM file on a worker's machine
MODEL_ROOTS = [Path(path).resolve() for path in env.list("DRAFTHOUSE_MODEL_ROOTS", default=[])]

# The API -------------------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "webapp.accounts.authentication.TokenAuthentication",
        "webapp.accounts.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["webapp.accounts.permissions.HasRight"],
    "DEFAULT_PARSER_CLASSES": ["webapp.core.rest.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PAGINATION_CLASS": "webapp.core.rest.Pages",
    "DEFAULT_FILTER_BACKENDS": [
        "webapp.core.rest.StrictFilters",
        "webapp.core.rest.StrictOrdering",
    ],
    "DEFAULT_SCHEMA_CLASS": "webapp.core.schema.ProblemSchema",
    "EXCEPTION_HANDLER": "webapp.core.refusals.problem_response",
    "UNAUTHENTICATED_USER": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Drafthouse",
    "DESCRIPTION": "Speculative decoding, compared honestly: models, pairs, prompts, comparisons, jobs and traces.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["webapp.accounts.permissions.SignedIn"],
    "COMPONENT_SPLIT_REQUEST": True,
    "COMPONENT_NO_READ_ONLY_REQUIRED": True,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_NAME_OVERRIDES": {
        "Role": "webapp.accounts.models.Role",
        "JobState": "webapp.jobs.models.JobState",
        "Queue": "webapp.jobs.models.Queue",
        "MeasuringQueue": "webapp.jobs.models.MEASURING",
        "StudyKind": "webapp.studies.serializers.KIND_CHOICES",
        "Readiness": "webapp.registry.models.Readiness",
        "UploadState": "webapp.uploads.models.Upload.State",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "webapp.core.schema.add_problem",
    ],
}

# Metrics: `/metrics` asks for this token; without one the address does not exist --------------------------------------

METRICS_TOKEN = environment.secret("DRAFTHOUSE_METRICS_TOKEN")

# Words and times -----------------------------------------------------------------------------------------------------

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
LOGGING = logs.configuration(env.str("DRAFTHOUSE_LOG", default=""))  # `json`, or lines for people
logs.hide(SECRET_KEY, TOKEN_PEPPER, DATABASES["default"].get("PASSWORD") or "")
