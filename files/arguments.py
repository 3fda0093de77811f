"""Arguments on the command line, whose wrong use is answered in JSON where that is asked for."""

import argparse
import json
from typing import Any, NoReturn

WRONG_USE = 2  # the exit status


class Parser(argparse.ArgumentParser):
    """A parser that writes wrong use as JSON to standard output, where `--json` is among the words."""

    as_json = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Look for `--json` first, as it may stand behind what is wrong."""
        self.as_json = "--json" in (args or ())
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """End with the exit status of wrong use."""
        if not self.as_json:
            super().error(message)
        print(json.dumps({"error": {"code": "wrong_use", "message": message, "exit_status": WRONG_USE}}))
        self.exit(WRONG_USE)
