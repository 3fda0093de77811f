"""The site's own settings for the site that the browser visits, but for the style guide and the rounds of a password's hash.

The rounds are slow by design: half a second at each sign-in, and most tests begin with one.
"""

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from config.settings import *  # noqa: F403


class QuickHasher(PBKDF2PasswordHasher):
    """Django's own, with few rounds."""

    iterations = 1_000


SHOW_STYLEGUIDE = True
PASSWORD_HASHERS = ["tests.browser.settings.QuickHasher"]
