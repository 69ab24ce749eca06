from django.db import migrations, models


class Migration(migrations.Migration):
    """Names two more reasons for a summary; the database stores them as before."""

    dependencies = [('memory', '0012_entities')]

    operations = [
        migrations.AlterField(
            model_name='condensation',
            name='trigger_reason',
            field=models.CharField(choices=[('bootstrap_summary', 'Bootstrap'), ('new_messages_threshold', 'New Messages'), ('new_tokens_threshold', 'New Tokens'), ('idle_session', 'Idle')], max_length=40),
        ),
    ]
