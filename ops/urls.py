"""The console's pages."""

from django.urls import path

from ops.views import audit, condensations, namespace, overview, pipeline, sessions

app_name = "ops"
urlpatterns = [
    path("", overview.overview, name="overview"),
    path("overview/live/", overview.overview_live, name="overview_live"),
    path("pipeline/", pipeline.pipeline, name="pipeline"),
    path("pipeline/live/", pipeline.pipeline_live, name="pipeline_live"),
    path("pipeline/jobs/", pipeline.pipeline_jobs, name="pipeline_jobs"),
    path("pipeline/jobs/operate/", pipeline.operate_jobs, name="operate_jobs"),
    path("pipeline/job/", pipeline.pipeline_job, name="pipeline_job"),
    path("pipeline/rows/", pipeline.pipeline_rows, name="pipeline_rows"),
    path("condensations/", condensations.condensations, name="pipeline_condensations"),
    path("sessions/", sessions.sessions, name="sessions"),
    path("sessions/one/", sessions.session, name="session"),
    path("sessions/reset/", sessions.session_reset, name="session_reset"),
    path("sessions/reset/now/", sessions.session_reset_now, name="session_reset_now"),
    path("audit/", audit.audit, name="audit"),
    path("audit/new/", audit.audit_new, name="audit_new"),
    path("audit/event/", audit.audit_event, name="audit_event"),
    path("audit/requests/", audit.audit_requests, name="audit_requests"),
    path("audit/export/", audit.audit_export, name="audit_export"),
    path("ns/", namespace.namespaces, name="namespaces"),
    path("ns/<path:name>/", namespace.namespace_named, name="namespace_named"),
]
