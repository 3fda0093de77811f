"""The site's settings for browser tests, with a style guide and fast password hashes.

Slow hashes take half a second at each sign-in, and most tests begin with one.
"""

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from config.settings import *  # noqa: F403


class QuickHasher(PBKDF2PasswordHasher):
    """Django's own, with few rounds."""

    iterations = 1_000


SHOW_STYLEGUIDE = True
PASSWORD_HASHERS = ["tests.browser.settings.QuickHasher"]
