"""Hostile programs of the abuse catalogue, as a participant would write them: they use up hosts.

Each prints what it saw, and most end by writing the answer file, so that "it got through" is visible as a score.
"""

from __future__ import annotations

from tests.hostile.programs.answer import ANSWER

FORK_BOMB = """
import os, time
count = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(60)
        count += 1
except OSError as error:
    print('stopped at', count, error.errno)
"""
THREAD_BOMB = (
    """
import threading, time
count = 0
try:
    while True:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        count += 1
except RuntimeError:
    print('stopped at', count)
"""
    + ANSWER
    + "import os; os._exit(0)\n"
)
ZOMBIE_FLOOD = (
    """
import os
count = 0
try:
    while True:
        if os.fork() == 0:
            os._exit(0)
        count += 1
except OSError:
    print('stopped at', count)
"""
    + ANSWER
)
MEM_HOG = "hoard = []\nwhile True:\n    hoard.append(bytearray(8 << 20))\n"
MEM_HOG_CHILD = (
    """
import os
child = os.fork()
if child == 0:
    hoard = []
    while True:
        hoard.append(bytearray(8 << 20))
os.waitpid(child, 0)
"""
    + ANSWER
)
DISK_FILL = """
with open('/app/output/big', 'wb') as sink:
    while True:
        sink.write(bytes(1 << 20))
        sink.flush()
"""
DISK_FILL_MANY = """
n = 0
try:
    while True:
        with open(f'/app/output/part{n}', 'wb') as sink:
            sink.write(bytes(4 << 20))
        n += 1
except OSError as error:
    print('errno', error.errno)
"""
DISK_FILL_DELETED = (
    """
import os
sink = open('/app/output/gone', 'wb', buffering=0)
os.unlink('/app/output/gone')
written = 0
try:
    while True:
        written += sink.write(bytes(1 << 20))
except OSError as error:
    print('errno', error.errno, 'after', written)
sink.close()
"""
    + ANSWER
)
DISK_FILL_TMP = (
    """
import errno
for folder in ('/tmp', '/', '/var', '/usr', '/app', '/app/program', '/etc', '/dev/shm'):
    written = 0
    try:
        with open(folder + '/fill', 'wb', buffering=0) as sink:
            while written < 400 << 20:
                written += sink.write(bytes(1 << 20))
    except OSError as error:
        print(folder, errno.errorcode[error.errno], written >> 20)
    try:
        import os
        os.unlink(folder + '/fill')
    except OSError:
        pass
"""
    + ANSWER
)
SYSV_IPC = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
for n in range(64):
    key = libc.shmget(0, 8 << 20, 0o1600)
    if key < 0:
        print('refused after', n)
        break
    address = libc.shmat(key, None, 0)
    ctypes.memset(address, 1, 8 << 20)
"""
INODE_FILL = """
n = 0
try:
    while True:
        open(f'/app/output/{n}', 'w').close()
        n += 1
except OSError as error:
    print('stopped at', n, error.errno)
"""
MANY_FOLDERS = (
    """
import os
for n in range(120):
    os.mkdir(f'/app/output/d{n}')
"""
    + ANSWER
)
SPARSE_1TB = """
import os
with open('/app/output/hole', 'wb') as sink:
    os.ftruncate(sink.fileno(), 1 << 40)
"""
SPARSE_MANY = (
    """
import os
for n in range(8):
    with open(f'/app/output/hole{n}', 'wb') as sink:
        os.ftruncate(sink.fileno(), 15 << 20)
"""
    + ANSWER
)
STDOUT_FLOOD = (
    """
import os
os.write(1, b'the first line\\n')
line = b'flood ' * 2000 + b'\\n'
for _ in range(6000):
    os.write(1, line)
os.write(1, b'the last line\\n')
"""
    + ANSWER
)
STDERR_ONE_LINE = (
    """
import os
for _ in range(300):
    os.write(2, b'x' * 65536)
"""
    + ANSWER
)
SLEEP_PAST_LIMIT = "import time\ntime.sleep(60)\n" + ANSWER
PARTIAL_THEN_HANG = ANSWER + "import time\ntime.sleep(60)\n"
HANG_AT_EXIT = "import atexit, time\natexit.register(time.sleep, 60)\n" + ANSWER
IGNORE_SIGTERM = """
import signal, time
for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
time.sleep(60)
"""
SIGSTOP_SELF = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n"
BUSY_FOREVER = "while True:\n    pass\n"
DAEMON_OUTLIVES = (
    """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            with open('/app/output/alive', 'a') as sink:
                sink.write(str(time.time()) + '\\n')
            time.sleep(0.01)
    os._exit(0)
time.sleep(0.3)
"""
    + ANSWER
)
FD_EXHAUST = (
    """
import os
count = 0
try:
    while True:
        os.open('/dev/null', os.O_RDONLY)
        count += 1
except OSError as error:
    print('stopped at', count, error.errno)
os.closerange(3, 100000)
"""
    + ANSWER
)
DEEP_DIRS = """
import os
os.chdir('/app/output')
try:
    for _ in range(3000):
        os.mkdir('d')
        os.chdir('d')
except OSError as error:
    print('stopped', error.errno)
open('/app/output/answer.txt', 'w').write('0.5')
"""
CORE_DUMP = "import os\nos.chdir('/app/output')\n" + ANSWER + "os.abort()\n"
PRIORITY_GRAB = (
    """
import os
for act in (lambda: os.nice(-10), lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))):
    try:
        act()
        print('GRABBED')
    except (OSError, PermissionError) as error:
        print('refused', error.errno)
"""
    + ANSWER
)
KILL_EVERYONE = "import os, signal\nos.kill(-1, signal.SIGKILL)\nos.kill(1, signal.SIGKILL)\nos._exit(9)\n"
STDOUT_DRIP = (
    """
import os, time
for _ in range(300):
    os.write(1, b'.')
    time.sleep(0.001)
"""
    + ANSWER
)
