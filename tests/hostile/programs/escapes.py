"""Hostile programs of the abuse catalogue, as a participant would write them: ways out.

Each prints what it saw, and most end by writing the answer file, so that "it got through" is visible as a score.
"""

from __future__ import annotations

from tests.hostile.programs.answer import ANSWER

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
