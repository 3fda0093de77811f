"""Programs that use up what the kernel counts per user, and programs of another run beside them."""

from __future__ import annotations

HOLD = "import time\nprint('HELD', flush=True)\ntime.sleep(4)\n"
INOTIFY = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
instances = 0
while libc.inotify_init1(0) >= 0:
    instances += 1
"""
INOTIFY_USE = "import ctypes\nprint('STARVED' if ctypes.CDLL(None).inotify_init1(0) < 0 else 'served')\n"
# Beyond the user's soft limit of pipe pages a new pipe has two pages instead of sixteen.
PIPES = """
import fcntl, os, resource
pipes = []
try:
    while len(pipes) < 480:
        pipes.append(os.pipe())
        fcntl.fcntl(pipes[-1][1], 1031, 1 << 18)
except OSError:
    pass
while len(pipes) < 480:
    pipes.append(os.pipe())
"""
PIPES_USE = "import fcntl, os\nprint('STARVED' if fcntl.fcntl(os.pipe()[1], 1032) < 65536 else 'served')\n"
SIGNALS = """
import ctypes, os, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
sent = 0
value = ctypes.c_void_p(1)
while libc.sigqueue(os.getpid(), int(signal.SIGRTMIN), value) == 0:
    sent += 1
"""
SIGNALS_USE = """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
print('STARVED' if libc.sigqueue(os.getpid(), int(signal.SIGRTMIN), ctypes.c_void_p(1)) else 'served')
"""
EXHAUST = {
    "inotify instances": (INOTIFY, INOTIFY_USE),
    "pages of pipes": (PIPES, PIPES_USE),
    "pending signals": (SIGNALS, SIGNALS_USE),
}
HOST_FACTS = """
import os
places = ['/sys/block', '/sys/class/block', '/sys/dev/block', '/sys/devices/virtual/block', '/sys/fs/ext4', '/proc/fs']
print('PLACES', [place for place in places if os.path.isdir(place) and os.listdir(place)])
print(open('/proc/self/cgroup').read())
print(open('/proc/partitions').read(), open('/proc/diskstats').read())
for root, folders, files in os.walk('/sys'):
    for name in files:
        if name in ('backing_file', 'uevent', 'mountpoint'):
            try:
                print(open(os.path.join(root, name)).read()[:300])
            except (OSError, UnicodeDecodeError):
                pass
"""
