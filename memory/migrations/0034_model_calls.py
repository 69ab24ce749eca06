"""Calls of models: each of them, their sums by day, what open ones may take, and budgets of keys.

As with the other tables of tenants the keys begin with the namespace, and `namespace_id` has no statistics.
"""

import django.db.models.deletion
import memory.models.keys
from django.db import migrations, models


_KEYS = """
ALTER TABLE memory_modelcall DROP CONSTRAINT memory_modelcall_pkey, ADD PRIMARY KEY (namespace_id, id);
ALTER TABLE memory_modelcall ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_usageday ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_usagereservation DROP CONSTRAINT memory_usagereservation_pkey, ADD PRIMARY KEY (namespace_id, id);
ALTER TABLE memory_usagereservation ALTER COLUMN namespace_id SET STATISTICS 0;
"""
_KEYS_BACK = """
ALTER TABLE memory_usagereservation DROP CONSTRAINT memory_usagereservation_pkey, ADD PRIMARY KEY (id);
ALTER TABLE memory_modelcall DROP CONSTRAINT memory_modelcall_pkey, ADD PRIMARY KEY (id);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0033_ivf_lists'),
    ]

    operations = [
        migrations.CreateModel(
            name='ModelCall',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField(default=0, help_text='0: for no namespace, or for several at once')),
                ('at', models.DateTimeField(help_text='When it began')),
                ('purpose', models.CharField(db_collation='C', max_length=20)),
                ('kind', models.CharField(db_collation='C', max_length=20)),
                ('provider', models.CharField(db_collation='C', max_length=40)),
                ('model', models.CharField(db_collation='C', max_length=200)),
                ('prompt_tokens', models.BigIntegerField(blank=True, null=True)),
                ('cached_tokens', models.BigIntegerField(blank=True, help_text='Of the prompt', null=True)),
                ('completion_tokens', models.BigIntegerField(blank=True, null=True)),
                ('estimated', models.BooleanField(default=False, help_text='The provider did not count the tokens')),
                ('ttft_ms', models.IntegerField(blank=True, help_text='Milliseconds to the first token of a stream', null=True)),
                ('duration_ms', models.IntegerField(help_text='Milliseconds')),
                ('status', models.CharField(choices=[('ok', 'Ok'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], max_length=10)),
                ('cost', models.DecimalField(blank=True, decimal_places=9, help_text='US dollars; empty: no price is known', max_digits=18, null=True)),
                ('price_source', models.CharField(blank=True, db_collation='C', default='', max_length=60)),
                ('price_date', models.DateField(blank=True, help_text='Since when that price holds, where it is said', null=True)),
                ('request_id', models.CharField(blank=True, db_collation='C', default='', help_text="Or the job's id", max_length=64)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='UsageDay',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'day', 'key_id', 'purpose', 'kind', 'provider', 'model', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('day', models.DateField()),
                ('key_id', models.BigIntegerField()),
                ('purpose', models.CharField(db_collation='C', max_length=20)),
                ('kind', models.CharField(db_collation='C', max_length=20)),
                ('provider', models.CharField(db_collation='C', max_length=40)),
                ('model', models.CharField(db_collation='C', max_length=200)),
                ('calls', models.BigIntegerField()),
                ('failed', models.BigIntegerField(help_text='Calls that brought nothing')),
                ('unpriced', models.BigIntegerField(help_text='Calls that brought something and have no known price')),
                ('prompt_tokens', models.BigIntegerField()),
                ('cached_tokens', models.BigIntegerField()),
                ('completion_tokens', models.BigIntegerField()),
                ('cost', models.DecimalField(decimal_places=9, help_text='US dollars, as far as prices are known', max_digits=24)),
            ],
        ),
        migrations.CreateModel(
            name='UsageReservation',
            fields=[
                ('id', models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('key_id', models.BigIntegerField()),
                ('tokens', models.BigIntegerField()),
                ('cost', models.DecimalField(decimal_places=9, max_digits=18)),
                ('expires_at', models.DateTimeField(help_text='When its process must have ended without settling it')),
            ],
        ),
        migrations.AddField(
            model_name='apikey',
            name='budget_hard_tokens',
            field=models.BigIntegerField(default=0, help_text='Tokens beyond which no model is called'),
        ),
        migrations.AddField(
            model_name='apikey',
            name='budget_hard_usd',
            field=models.DecimalField(decimal_places=4, default=0, help_text='US dollars beyond which no model is called', max_digits=12),
        ),
        migrations.AddField(
            model_name='apikey',
            name='budget_period',
            field=models.CharField(choices=[('day', 'a day'), ('month', 'a calendar month')], default='month', help_text='What calls of models for this key may cost in it (UTC); 0: no limit', max_length=5),
        ),
        migrations.AddField(
            model_name='apikey',
            name='budget_soft_tokens',
            field=models.BigIntegerField(default=0, help_text='Tokens from which answers warn'),
        ),
        migrations.AddField(
            model_name='apikey',
            name='budget_soft_usd',
            field=models.DecimalField(decimal_places=4, default=0, help_text='US dollars from which answers warn', max_digits=12),
        ),
        migrations.AddField(
            model_name='modelcall',
            name='key',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, help_text='Empty: the worker or a member of staff', null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.apikey'),
        ),
        migrations.AddIndex(
            model_name='usageday',
            index=models.Index(fields=['key_id', 'day'], name='usage_of_key'),
        ),
        migrations.AddIndex(
            model_name='usageday',
            index=models.Index(fields=['day'], name='usage_of_day'),
        ),
        migrations.AddIndex(
            model_name='usagereservation',
            index=models.Index(fields=['key_id'], name='reservation_of_key'),
        ),
        migrations.AddIndex(
            model_name='modelcall',
            index=models.Index(fields=['-id'], name='model_call_recent'),
        ),
        migrations.RunSQL(_KEYS, _KEYS_BACK),
    ]
