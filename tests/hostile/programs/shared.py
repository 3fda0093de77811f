"""Programs with one folder beside a scoring program: hostile submissions, and trusting scorers."""

from __future__ import annotations

# Waits for a file of predictions, as scorers of this kind do, and takes it for a number.
TRUSTING_SCORER = """
import json, os, pathlib, time
pred, until = pathlib.Path('/app/shared/pred.csv'), time.monotonic() + 10
value = None
while value is None and time.monotonic() < until:
    try:
        value = float(pred.read_text().split()[0])
    except (OSError, ValueError, IndexError) as error:
        print('SCORER', type(error).__name__, getattr(error, 'errno', ''), flush=True)
        time.sleep(0.05)
pathlib.Path('/app/output/scores.json').write_text(json.dumps({'score': -1.0 if value is None else value}))
"""
TRIES = """
import ctypes, os, socket, stat, time
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, make):
    try:
        print(name, 'MADE' if make() in (None, 0) else 'refused', flush=True)
    except OSError as error:
        print(name, 'refused', error.errno, flush=True)
"""
LINK_TO_LABELS = (
    TRIES
    + """
attempt('symlink', lambda: os.symlink('/app/input/ref/labels.txt', '/app/shared/pred.csv'))
attempt('symlink in /tmp', lambda: os.symlink('/app/input/ref/labels.txt', '/tmp/link'))
attempt('rename of a link', lambda: os.rename('/tmp/link', '/app/shared/pred.csv'))
attempt('link to another mount', lambda: os.link('/app/program/main.py', '/app/shared/pred.csv'))
attempt('folder link', lambda: os.symlink('/app/input/ref', '/app/shared/ref'))
attempt('fifo', lambda: os.mkfifo('/app/shared/pred.csv'))
attempt('device', lambda: os.mknod('/app/shared/pred.csv', stat.S_IFCHR | 0o666, os.makedev(1, 3)))
attempt('socket node', lambda: os.mknod('/app/shared/pred.csv', stat.S_IFSOCK | 0o666))
attempt('mount', lambda: libc.mount(b'/app/program', b'/app/shared', None, 4096, None))
attempt('regular', lambda: os.mknod('/app/shared/notes.txt', stat.S_IFREG | 0o644))
"""
)
HONEST = """
import os
with open('/app/shared/pred.tmp', 'w') as file:
    file.write('0.25')
os.rename('/app/shared/pred.tmp', '/app/shared/pred.csv')
"""
# A second process changes the file between any check and any use.
RACE = """
import os, time
until = time.monotonic() + 1.5
while time.monotonic() < until:
    for make in (lambda: os.symlink('/app/input/ref/labels.txt', '/app/shared/next'), lambda: open('/app/shared/next', 'w').close()):
        try:
            make()
            os.rename('/app/shared/next', '/app/shared/pred.csv')
        except OSError:
            pass
"""
