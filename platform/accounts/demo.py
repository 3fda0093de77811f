"""Accounts of a public demo (`PODIUM_DEMO`): they need no password and change nothing."""

from django.conf import settings

from accounts.models import User


def demo_accounts() -> list[User]:
    """The accounts of `PODIUM_DEMO_ACCOUNTS`, in this order; none on a site that is not a demo.

    An administrator's account may write, so it is never among them.
    """
    if not settings.PUBLIC_DEMO:
        return []
    users = User.objects.filter(
        username__in=settings.DEMO_ACCOUNTS, is_active=True, is_superuser=False, is_robot=False
    ).in_bulk(field_name="username")
    return [users[name] for name in settings.DEMO_ACCOUNTS if name in users]


def is_demo_account(user: User) -> bool:
    """True for an account that anybody may sign in to."""
    return settings.PUBLIC_DEMO and not user.is_superuser and user.username in settings.DEMO_ACCOUNTS
