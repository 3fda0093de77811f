"""Hostile programs, one per line of the abuse catalogue, written as a participant would write them.

Each prints what it saw, and most end by writing the answer file, so that "it got through" is visible as a score.
"""

from __future__ import annotations

ANSWER = "open('/app/output/answer.txt', 'w').write('0.5')\n"

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

READ_REFERENCE = (
    """
import os
found = []
for root, folders, files in os.walk('/'):
    if root.startswith(('/proc', '/sys', '/usr', '/lib', '/dev')):
        folders.clear()
        continue
    for name in files:
        try:
            if b'the-secret-label' in open(os.path.join(root, name), 'rb').read(1 << 20):
                found.append(os.path.join(root, name))
        except OSError:
            pass
print('FOUND', found, os.path.exists('/app/input'))
"""
    + ANSWER
)
ENV_DUMP = (
    """
import os
print('ENV', sorted(name for name, value in os.environ.items() if value))
print('HOSTS', open('/etc/hostname').read().strip())
"""
    + ANSWER
)
PROC_SNOOP = (
    """
import os
print('PIDS', sorted(int(p) for p in os.listdir('/proc') if p.isdigit()))
print('MOUNTS', open('/proc/self/mountinfo').read())
"""
    + ANSWER
)
NETWORK_EGRESS = (
    """
import socket
for address in (('169.254.169.254', 80), ('172.17.0.1', 80), ('127.0.0.1', 2375), ('8.8.8.8', 53), ('10.0.0.1', 80)):
    try:
        socket.create_connection(address, timeout=1)
        print('CONNECTED', address)
    except OSError as error:
        print('refused', address, error.errno)
import os
for path in ('/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock'):
    print('SOCKET', os.path.exists(path))
print('INTERFACES', [name for _, name in socket.if_nameindex()])
"""
    + ANSWER
)
SOCKET_FAMILIES = (
    """
import socket
for family in range(0, 46):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            socket.socket(family, kind).close()
            print('OPEN', family)
            break
        except OSError:
            pass
"""
    + ANSWER
)
SYSCALL_PROBE = (
    """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
calls = {'ptrace': 101, 'process_vm_readv': 310, 'name_to_handle_at': 303, 'open_by_handle_at': 304, 'io_uring_setup': 425,
         'bpf': 321, 'userfaultfd': 323, 'perf_event_open': 298, 'add_key': 248, 'keyctl': 250, 'mount': 165, 'umount2': 166,
         'unshare': 272, 'setns': 308, 'pivot_root': 155, 'chroot': 161, 'reboot': 169, 'init_module': 175,
         'finit_module': 313, 'kexec_load': 246, 'swapon': 167, 'settimeofday': 164, 'sethostname': 170, 'acct': 163,
         'iopl': 172, 'ioperm': 173, 'quotactl': 179, 'syslog': 103, 'vhangup': 153, 'fsopen': 430, 'move_mount': 429,
         'open_tree': 428, 'pidfd_getfd': 438, 'kcmp': 312, 'lookup_dcookie': 212, 'clock_settime': 227}
for name, number in calls.items():
    ctypes.set_errno(0)
    result = libc.syscall(number, 0, 0, 0, 0, 0, 0)
    if result != -1 or ctypes.get_errno() not in (1, 38):
        print('REACHED', name, result, ctypes.get_errno())
print('clone with a new user namespace:', libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0), ctypes.get_errno())
"""
    + ANSWER
)
KERNEL_WRITES = (
    """
import os
for path in ('/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/sys/kernel/uevent_helper', '/proc/sys/vm/overcommit_memory',
             '/sys/fs/cgroup/memory/memory.limit_in_bytes', '/sys/fs/cgroup/cgroup.procs', '/proc/self/oom_score_adj'):
    try:
        with open(path, 'w') as sink:
            sink.write('-1000')
        print('WROTE', path)
    except OSError as error:
        print('refused', path, error.errno)
for path in ('/dev/vda', '/dev/sda', '/dev/mem', '/dev/kmsg', '/dev/fuse', '/dev/loop0', '/dev/kvm'):
    print('DEVICE', path, os.path.exists(path))
try:
    os.mknod('/app/output/disk', 0o60666, os.makedev(254, 0))
    print('MADE A DEVICE')
except OSError as error:
    print('refused mknod', error.errno)
"""
    + ANSWER
)
SETUID_HUNT = (
    """
import os, stat
found = []
for root, folders, files in os.walk('/'):
    if root.startswith(('/proc', '/sys')):
        folders.clear()
        continue
    for name in files:
        try:
            if os.lstat(os.path.join(root, name)).st_mode & (stat.S_ISUID | stat.S_ISGID):
                found.append(os.path.join(root, name))
        except OSError:
            pass
print('SETUID', found)
status = dict(line.split(':', 1) for line in open('/proc/self/status').read().splitlines())
print('CAPS', status['CapEff'].strip(), status['CapBnd'].strip(), status['CapPrm'].strip(), status['CapAmb'].strip())
print('NNP', status['NoNewPrivs'].strip(), 'UID', os.getuid(), os.getgid(), os.getgroups())
for act in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.chroot('/tmp')):
    try:
        act()
        print('BECAME')
    except OSError as error:
        print('refused', error.errno)
"""
    + ANSWER
)
TAMPER_INPUTS = (
    """
import os
for path in ('/app/program/main.py', '/app/input_data/x.txt', '/etc/passwd', '/usr/bin/python3', '/app/program/new'):
    for act in (lambda: open(path, 'a').write('x'), lambda: os.chmod(path, 0o777), lambda: os.unlink(path)):
        try:
            act()
            print('CHANGED', path)
        except OSError as error:
            pass
"""
    + ANSWER
)
RESIDUE = (
    """
import os
marks = ['/tmp/mark', '/dev/shm/mark', '/app/output/mark', '/var/tmp/mark', '/run/mark']
print('RESIDUE', [path for path in marks if os.path.exists(path)])
for path in marks:
    try:
        open(path, 'w').write('I was here')
    except OSError:
        pass
"""
    + ANSWER
)

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
BIDI_NAME = ANSWER + "open('/app/output/\\u202etxt.exe', 'w').write('x')\n"
BACKSLASH_NAME = ANSWER + "open('/app/output/..\\\\..\\\\x', 'w').write('x')\n"
HTML_NAME = ANSWER + "open('/app/output/<script>alert(1)<script>', 'w').write('x')\n"
LONG_NAME = ANSWER + "open('/app/output/' + 'n' * 255, 'w').write('x')\n"
UNREADABLE_OUTPUT = ANSWER + "import os\nos.chmod('/app/output/answer.txt', 0)\nos.chmod('/app/output', 0)\n"
ZIP_BOMB_OUTPUT = (
    """
import zipfile
with zipfile.ZipFile('/app/output/bomb.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
    archive.writestr('zeros', bytes(50 << 20))
"""
    + ANSWER
)
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
STDOUT_DRIP = (
    """
import os, time
for _ in range(300):
    os.write(1, b'.')
    time.sleep(0.001)
"""
    + ANSWER
)
