"""Gunicorn in the site's container: a loop per process serves clients, threads do the work."""

import os

from core.logs import WebLogger, logging_config

bind = "0.0.0.0:8000"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
preload_app = True  # read once: processes share its memory, and one that takes another's place answers at once
worker_class = "core.serving.worker.LoopWorker"
threads = int(os.environ.get("WEB_THREADS", "16"))
timeout = 120  # seconds without a sign of life from a process's loop
graceful_timeout = 30
worker_tmp_dir = "/dev/shm"  # the heartbeat file must not wait for a disk
accesslog = "-"
logger_class = WebLogger
logconfig_dict = logging_config(os.environ.get("PODIUM_LOG_LEVEL") or "INFO")
max_requests = 20_000
max_requests_jitter = 2_000
