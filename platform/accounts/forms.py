"""Forms of signing in."""

from typing import Any

from allauth.account.forms import LoginForm


class SignInForm(LoginForm):  # type: ignore[misc]  # allauth has no types
    """The sign-in form; it also takes the field `username`, as programs for other Django sites send it."""

    def __init__(self, *args: Any, data: Any = None, **kwargs: Any) -> None:
        if data is not None and "login" not in data and "username" in data:
            data = data.copy()
            data["login"] = data["username"]
        super().__init__(*args, data=data, **kwargs)
