from datetime import timedelta

from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "competitions.runs"
    verbose_name = "Runs"

    def ready(self) -> None:
        from competitions.compute.launchers import remove_gone_workers
        from competitions.compute.models import cluster_job_ended
        from competitions.runs import impact  # noqa: F401  # adds its checks
        from competitions.runs.accounting.gpu_hours import warn_of_gpu_hours
        from competitions.runs.checks import CHECK
        from competitions.runs.leases.interrupts import runs_follow_job
        from competitions.runs.leases.retries import LEASES, expire_leases
        from competitions.runs.planning import queue_accepted
        from competitions.runs.queue.positions import unserved_queues
        from competitions.runs.queue.ranking import turns_repair, wake_waiting_queues
        from competitions.runs.records.retention import remove_old
        from competitions.runs.records.scoring_errors import organizers_notify
        from competitions.runs.services import submissions_follow_merge
        from competitions.submissions.signals import submission_accepted
        from competitions.teams.merging import teams_merged
        from core.background import jobs
        from core.health import health_check
        from core.reconciler import reconciler_step

        jobs.register(CHECK)
        health_check(unserved_queues)
        reconciler_step(LEASES, expire_leases, spares=True)
        reconciler_step("queues_woken", wake_waiting_queues)
        reconciler_step("turns_repaired", turns_repair, every=timedelta(minutes=1))
        reconciler_step("old_removed", remove_old, every=timedelta(minutes=10))
        reconciler_step("gone_workers_removed", remove_gone_workers, every=timedelta(hours=1))
        reconciler_step("gpu_hours_told", warn_of_gpu_hours, every=timedelta(minutes=10))
        reconciler_step("scoring_errors_told", organizers_notify, every=timedelta(minutes=10))
        submission_accepted.connect(queue_accepted, dispatch_uid="runs.queue_accepted")
        teams_merged.connect(submissions_follow_merge, dispatch_uid="runs.submissions_follow_merge")
        cluster_job_ended.connect(runs_follow_job, dispatch_uid="runs.runs_follow_job")
