"""Cubes of which data sets or adapters were made have parametric memory on: from now on they need it."""

from django.db import migrations

TURN_ON = """
UPDATE memory_cube c SET kinds = array_append(c.kinds, 'parametric')
WHERE NOT 'parametric' = ANY(c.kinds)
  AND (EXISTS (SELECT FROM memory_trainingdataset d WHERE d.namespace_id = c.namespace_id)
       OR EXISTS (SELECT FROM memory_adapter a WHERE a.namespace_id = c.namespace_id))
"""


class Migration(migrations.Migration):
    dependencies = [("memory", "0062_topics")]

    operations = [migrations.RunSQL(TURN_ON, migrations.RunSQL.noop)]
