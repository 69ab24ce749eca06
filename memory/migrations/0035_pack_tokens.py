"""The index of the newest packs carries their tokens: sums over time are read from it alone."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0034_model_calls'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='contextpack',
            name='pack_recent',
        ),
        migrations.AddIndex(
            model_name='contextpack',
            index=models.Index(fields=['namespace', '-id'], include=('created_at', 'token_original', 'token_condensed'), name='pack_recent_tokens'),
        ),
    ]
