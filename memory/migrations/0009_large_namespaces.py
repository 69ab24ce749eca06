"""Cells of the vectors and counts of the common terms of large namespaces."""

import django.db.models.deletion
import django.utils.timezone
import memory.models.keys
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0008_documents'),
    ]

    operations = [
        migrations.CreateModel(
            name='CommonTerm',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'term', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
                ('term', models.CharField(db_collation='C', max_length=64)),
                ('memories', models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='Corpus',
            fields=[
                ('namespace', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='memory.namespace')),
                ('memories', models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='VectorCell',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'model_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
                ('model', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.embeddingmodel')),
                ('number', models.IntegerField()),
                ('centroid', models.BinaryField()),
                ('members', models.BinaryField(default=b'')),
                ('size', models.IntegerField(default=0, help_text='How many members')),
                ('lump', models.IntegerField(default=0, help_text='Members when it was last found that they cannot be split')),
                ('refreshed_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='VectorMap',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'model_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
                ('model', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.embeddingmodel')),
                ('version', models.UUIDField(default=memory.models.keys.new_id)),
                ('deleted_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddField(
            model_name='memoryvector',
            name='filed',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddIndex(
            model_name='memoryvector',
            index=models.Index(condition=models.Q(('filed', False)), fields=['namespace', 'model'], name='memoryvector_unfiled'),
        ),
    ]
