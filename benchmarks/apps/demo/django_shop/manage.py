"""A Django project: customers, products and orders in the administration site. Its data lie in the working folder."""

import sys
from pathlib import Path

from django.conf import settings
from django.core.management import execute_from_command_line

_CONTRIB = ("admin", "auth", "contenttypes", "sessions", "messages", "staticfiles")
_CONTEXT = ("django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
            "django.contrib.messages.context_processors.messages")  # fmt: skip

settings.configure(
    DEBUG=True,
    SECRET_KEY="for demonstrations on loopback only",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF="shop.urls",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": Path("shop.sqlite").resolve()}},
    INSTALLED_APPS=[*(f"django.contrib.{name}" for name in _CONTRIB), "shop"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {"context_processors": list(_CONTEXT)},
        }
    ],
    STATIC_URL="/static/",
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
)

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
