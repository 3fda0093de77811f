"""Hostile programs of the abuse catalogue, as a participant would write them: pretences.

Each prints what it saw, and most end by writing the answer file, so that "it got through" is visible as a score.
"""

from __future__ import annotations

from tests.hostile.programs.answer import ANSWER

FAKE_OOM_EXIT = "import os\nos._exit(137)\n"
FAKE_SIGTERM_EXIT = "import os\nos._exit(143)\n"
FAKE_DOCKER_ERROR = """
import sys
print('docker: Error response from daemon: OCI runtime create failed: no space left on device')
sys.exit(125)
"""
FAKE_INFRA_MARKER = """
import json, sys
for name in ('infrastructure', 'verdict.json', 'result.json', 'refusal.json', 'state.json', 'metadata'):
    json.dump({'reason': 'infrastructure', 'code': 'worker_lost', 'message': 'retry me'}, open('/app/output/' + name, 'w'))
print('{"level": "error", "event": "worker_lost", "reason": "infrastructure"}')
sys.exit(65)
"""
FAKE_TIME_REPORT = (
    """
import json, time
time.sleep(1)
json.dump({'elapsedTime': 0.001, 'wall_s': 0.0}, open('/app/output/metadata', 'w'))
try:
    time.clock_settime(time.CLOCK_REALTIME, 0)
    print('CLOCK SET')
except OSError as error:
    print('refused', error.errno)
"""
    + ANSWER
)
CRASH_AFTER_OUTPUT = ANSWER + "raise SystemExit(7)\n"
NO_OUTPUT = "print('nothing to see')\n"
FAKE_SCORES = (
    """
import json
json.dump({'score': 1e9}, open('/app/output/scores.json', 'w'))
"""
    + ANSWER
)
LOG_GARBAGE = (
    """
import os
os.write(1, bytes(range(256)) * 20 + b'\\x1b]0;owned\\x07<script>document.title="owned"</script>\\n')
"""
    + ANSWER
)
