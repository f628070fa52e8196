import { Button, Loader, Paper, Stack, Text } from '@mantine/core';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { PageTitle } from '@/app/PageTitle';
import plain from '@/app/plain.module.css';
import { useLiveJob, useSession } from '@/live/store';
import { Notice } from '@/ui/Notice';
import classes from './TensorboardPage.module.css';
import { type BoardOf, useTensorboard } from './useTensorboard';

const WAITING = {
  asking: 'Asking for TensorBoard…',
  queued: 'Waiting for its place on the cluster…',
  starting: 'TensorBoard is starting…',
  running: 'Opening it…',
} as const;

/** Of a session. */
export function TensorboardPage() {
  const { id } = useParams({ from: '/member/sessions/$id/tensorboard' });
  const name = useSession(id)?.name ?? 'this session';
  return <BringUp of={{ kind: 'sessions', id }} name={name} />;
}

/** Of a job, running or ended. */
export function JobTensorboardPage() {
  const { id } = useParams({ from: '/member/jobs/$id/tensorboard' });
  const { logdir } = useSearch({ from: '/member/jobs/$id/tensorboard' });
  const name = useLiveJob(id)?.name ?? 'this job';
  return <BringUp of={{ kind: 'jobs', id, logdir }} name={name} />;
}

/** One click's target: has a TensorBoard started if there is none, then becomes it. */
function BringUp({ of, name }: { of: BoardOf; name: string }) {
  const { phase, logdir, problem, again } = useTensorboard(of);
  const job = of.kind === 'jobs';
  return (
    <div className={plain.center}>
      <Paper className={classes.card}>
        <Stack gap="md">
          <PageTitle tab={`TensorBoard of ${name}`}>TensorBoard of {name}</PageTitle>
          {phase === 'failed' ? (
            <>
              <Notice tone="error">{problem}</Notice>
              <Button onClick={again} w="fit-content">
                Try again
              </Button>
            </>
          ) : (
            <div className={classes.waiting} role="status">
              <Loader size="sm" aria-hidden="true" />
              <span>{problem ?? WAITING[phase]}</span>
            </div>
          )}
          {logdir && (
            <Text size="sm" c="dimmed">
              It shows what is written to <code className={classes.path}>{logdir}</code>, which is{' '}
              {job ? (
                'where the job logs.'
              ) : (
                <>
                  <code>PORTAL_LOGDIR</code> in your notebooks.
                </>
              )}
            </Text>
          )}
          {job ? (
            <Link to="/jobs/$id" params={{ id: of.id }}>
              Back to the job
            </Link>
          ) : (
            <Link to="/">Your sessions</Link>
          )}
        </Stack>
      </Paper>
    </div>
  );
}
