"""Hostile programs of the abuse catalogue, as a participant would write them: traps in outputs.

Each prints what it saw, and most end by writing the answer file, so that "it got through" is visible as a score.
"""

from __future__ import annotations

from tests.hostile.programs.answer import ANSWER

SYMLINK_OUTPUT = """
import os
os.symlink('/app/input/ref/labels.txt', '/app/output/answer.txt')
"""
SYMLINK_ABSOLUTE = "import os\n" + ANSWER + "os.symlink('/etc/passwd', '/app/output/notes.txt')\n"
SYMLINK_FOLDER = "import os\n" + ANSWER + "os.symlink('/', '/app/output/root')\n"
OUTPUT_DIR_SWAP = (
    """
import os
try:
    os.rename('/app/output', '/app/gone')
    os.symlink('/etc', '/app/output')
    print('SWAPPED')
except OSError as error:
    print('refused', error.errno)
"""
    + ANSWER
)
SYMLINK_RACE = """
import os, threading, time
open('/app/output/answer.txt', 'w').write('0.5')
def swap():
    while True:
        os.symlink('/etc/passwd', '/app/output/new')
        os.rename('/app/output/new', '/app/output/answer.txt')
        open('/app/output/new', 'w').write('0.5')
        os.rename('/app/output/new', '/app/output/answer.txt')
for _ in range(3):
    threading.Thread(target=swap, daemon=True).start()
time.sleep(0.5)
os.symlink('/etc/passwd', '/app/output/last')
os._exit(0)
"""
HARDLINK_OUTPUT = "import os\n" + ANSWER + "os.link('/app/output/answer.txt', '/app/output/second.txt')\n"
FIFO_SCORES = "import os\n" + ANSWER + "os.mkfifo('/app/output/scores.json')\n"
UNIX_SOCKET = (
    """
import socket
socket.socket(socket.AF_UNIX).bind('/app/output/sock')
"""
    + ANSWER
)
NEWLINE_NAME = ANSWER + "open('/app/output/a\\nb.txt', 'w').write('x')\n"
NON_UTF8_NAME = ANSWER + "open(b'/app/output/\\xff\\xfe.txt', 'w').write('x')\n"
NON_UTF8_TEXT = "open('/app/output/answer.txt', 'wb').write(b'0.5\\xff')\n"
BIDI_NAME = ANSWER + "open('/app/output/\\u202etxt.exe', 'w').write('x')\n"
BACKSLASH_NAME = ANSWER + "open('/app/output/..\\\\..\\\\x', 'w').write('x')\n"
HTML_NAME = ANSWER + "open('/app/output/<script>alert(1)<script>', 'w').write('x')\n"
LONG_NAME = ANSWER + "open('/app/output/' + 'n' * 255, 'w').write('x')\n"
UNREADABLE_OUTPUT = ANSWER + "import os\nos.chmod('/app/output/answer.txt', 0)\nos.chmod('/app/output', 0)\n"
HIDDEN_FOLDER = (
    ANSWER
    + """
import os
os.makedirs('/app/output/hidden/deep')
open('/app/output/hidden/deep/x', 'w').write('x')
for path in ('hidden/deep/x', 'hidden/deep', 'hidden'):
    os.chmod('/app/output/' + path, 0)
"""
)
HIDDEN_GROWTH = (
    ANSWER
    + """
import os
os.mkdir('/app/output/hidden')
sinks = [open(f'/app/output/hidden/{n}', 'wb', buffering=0) for n in range(16)]
os.chmod('/app/output/hidden', 0)
os.chmod('/app/output', 0)
while True:
    for sink in sinks:
        if os.fstat(sink.fileno()).st_size < 8 << 20:
            sink.write(bytes(1 << 20))
"""
)
ZIP_BOMB_OUTPUT = (
    """
import zipfile
with zipfile.ZipFile('/app/output/bomb.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
    archive.writestr('zeros', bytes(50 << 20))
"""
    + ANSWER
)
