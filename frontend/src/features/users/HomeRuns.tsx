import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper } from '@mantine/core';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import classes from '@/ui/DetailPage.module.css';
import { Fold } from '@/ui/Fold';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { useReauthAction } from '@/ui/useReauthAction';
import { makeHome } from './actions';
import { homeRunLabel, homeTask, isActiveRun, isManaged } from './labels';
import type { HomeRun, User } from './types';

/** Runs of the site's home directory command, with their output. */
export function HomeRuns({ user }: { user: User }) {
  const me = useMe();
  const { busy, change } = useReauthAction();
  const runs = user.home_runs;
  const making = runs.find((run) => run.task === 'create');
  const makes = mayChange(me) && isManaged(user) && user.home_tasks.includes('create');
  return (
    <Paper component="section" className={classes.box} aria-labelledby="home">
      <h2 className={classes.heading} id="home">
        <Trans>Home directory</Trans>
      </h2>
      {runs.length === 0 ? (
        <p className={classes.quiet}>
          {user.home_tasks.length === 0
            ? t`The portal has no command that creates home directories. To add one, configure the setting home_command.`
            : t`The portal has not run anything for it.`}
        </p>
      ) : (
        <ul className={classes.runs}>
          {runs.map((run) => (
            <Run key={`${run.task} ${run.created_at}`} run={run} />
          ))}
        </ul>
      )}
      {makes && (making === undefined || making.state === 'failed') && (
        <Button
          variant="default"
          loading={busy}
          onClick={() => change(() => makeHome(user.username))}
        >
          {making ? t`Run again` : t`Create the home directory`}
        </Button>
      )}
    </Paper>
  );
}

function Run({ run }: { run: HomeRun }) {
  const code = run.exit_code;
  return (
    <li className={classes.run}>
      <div className={classes.runHead}>
        <StateChip {...homeRunLabel(run)} />
        <span>{homeTask(run)}</span>
        <span className={classes.quiet}>
          <Time at={run.ended_at ?? run.created_at} relative />
          {code !== null && code !== 0 && ` · ${t`exit code ${code}`}`}
        </span>
      </div>
      {run.output !== '' && !isActiveRun(run) && (
        <Fold
          className={classes.runOutput}
          summary={<Trans>Output</Trans>}
          open={run.state === 'failed'}
        >
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll it */}
          <pre className={classes.output} tabIndex={0}>
            {run.output}
          </pre>
        </Fold>
      )}
    </li>
  );
}
