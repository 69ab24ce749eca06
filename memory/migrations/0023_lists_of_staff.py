"""Indexes of two lists that staff look at: the entities mentioned most, and memories with a tag.

300,000 memories of one namespace, one in fifty tagged, with 900,000 mentions: mentions are counted in 111 ms instead of
264 (7 MB beside a table of 94), a tag is found in 7 ms instead of 87 (0.4 MB beside 96).
"""

import django.contrib.postgres.indexes
import django.db.models.fields.json
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0022_projections'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='entitymention',
            index=models.Index(condition=models.Q(('active', True)), fields=['namespace', 'alias'], name='entitymention_counted'),
        ),
        # The namespace cannot lead a GIN index without the extension btree_gin (see the model).
        migrations.AddIndex(
            model_name='memory',
            index=django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.indexes.OpClass(django.db.models.fields.json.KeyTransform('tags', 'metadata'), name='jsonb_path_ops'), condition=models.Q(('metadata__has_key', 'tags')), name='memory_tagged'),
        ),
    ]
