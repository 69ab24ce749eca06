"""The console's pages."""

from django.urls import path

from ops.views import entities, evaluation, overview, policies, quarantine

app_name = "ops"
urlpatterns = [
    path("", overview.overview, name="overview"),
    path("overview/live/", overview.overview_live, name="overview_live"),
    path("entities/", entities.entities, name="entities"),
    path("entities/search/", entities.entities_search, name="entities_search"),
    path("entities/<uuid:entity_id>/", entities.entity, name="entity"),
    path("entities/<uuid:entity_id>/candidates/", entities.entity_candidates, name="entity_candidates"),
    path("entities/<uuid:entity_id>/merge/", entities.entity_merge, name="entity_merge"),
    path("entities/<uuid:entity_id>/split/", entities.entity_split, name="entity_split"),
    path("policies/", policies.policies, name="policies"),
    path("policies/change/", policies.policy_change, name="policy_change"),
    path("policies/put-back/", policies.policy_put_back, name="policy_put_back"),
    path("quarantine/", quarantine.quarantine, name="quarantine"),
    path("quarantine/decide/", quarantine.quarantine_decide, name="quarantine_decide"),
    path("evaluation/", evaluation.evaluation, name="evaluation"),
    path("evaluation/start/", evaluation.evaluation_start, name="evaluation_start"),
    path("evaluation/compare/", evaluation.evaluation_compare, name="evaluation_compare"),
    path("evaluation/judgements/", evaluation.evaluation_judgements, name="evaluation_judgements"),
    path("evaluation/<uuid:run_id>/", evaluation.evaluation_run, name="evaluation_run"),
]
