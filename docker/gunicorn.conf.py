"""Gunicorn in the site's container. Threads wait for slow uploads and downloads; processes use the cores."""

import os

from core.logs import WebLogger, logging_config
from core.patient import KEEP_ALIVE_S

bind = "0.0.0.0:8000"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
worker_class = "core.patient.PatientWorker"  # threads, with limits on how long a client keeps one waiting
threads = int(os.environ.get("WEB_THREADS", "16"))
keepalive = KEEP_ALIVE_S
timeout = 120  # seconds without a sign of life from a process; a long upload keeps its thread, not its process
graceful_timeout = 30
worker_tmp_dir = "/dev/shm"  # the heartbeat file must not wait for a disk
forwarded_allow_ips = "*"  # the port is not published: what reaches it is the front
accesslog = "-"
logger_class = WebLogger
logconfig_dict = logging_config(os.environ.get("PODIUM_LOG_LEVEL") or "INFO")
max_requests = 20_000
max_requests_jitter = 2_000
