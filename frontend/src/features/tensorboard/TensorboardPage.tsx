import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Loader, Paper, Stack, Text } from '@mantine/core';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { useSession, useStreamedJob } from '@/live/store';
import { Notice } from '@/ui/Notice';
import { PageTitle } from '@/ui/PageTitle';
import plain from '@/ui/PlainPage.module.css';
import classes from './TensorboardPage.module.css';
import { type TensorboardSource, useRunningTensorboard, useTensorboard } from './useTensorboard';

const WAITING = {
  asking: t`Requesting TensorBoard…`,
  queued: t`Waiting for resources on the cluster…`,
  starting: t`TensorBoard is starting…`,
  running: t`Opening it…`,
} as const;

/** The page that opens a session's TensorBoard. */
export function TensorboardPage() {
  const { id } = useParams({ from: '/signed-in/sessions/$id/tensorboard' });
  const name = useSession(id)?.name;
  const title = name ? t`TensorBoard of ${name}` : t`TensorBoard of this session`;
  return <StartTensorboard source={{ kind: 'sessions', id }} title={title} />;
}

/** The page that opens the TensorBoard of an active or ended job. */
export function JobTensorboardPage() {
  const { id } = useParams({ from: '/signed-in/jobs/$id/tensorboard' });
  const { logdir } = useSearch({ from: '/signed-in/jobs/$id/tensorboard' });
  const name = useStreamedJob(id)?.name;
  const title = name ? t`TensorBoard of ${name}` : t`TensorBoard of this job`;
  return <StartTensorboard source={{ kind: 'jobs', id, logdir }} title={title} />;
}

/** The page that opens a running TensorBoard by its own id: the target of links that can be shared,
 * which contain no credentials. */
export function RunningTensorboardPage() {
  const { id } = useParams({ from: '/signed-in/tensorboards/$id' });
  const { message, retry } = useRunningTensorboard(id);
  const title = t`Opening TensorBoard`;
  return (
    <div className={plain.center}>
      <Paper className={classes.card}>
        <Stack gap="md">
          <PageTitle tab={title}>{title}</PageTitle>
          {message === null ? (
            <div className={classes.waiting} role="status">
              <Loader size="sm" aria-hidden="true" />
              <span>{WAITING.running}</span>
            </div>
          ) : (
            <>
              <Notice tone="error">{message}</Notice>
              <Button onClick={retry} w="fit-content">
                <Trans>Try again</Trans>
              </Button>
            </>
          )}
          <Link to="/shared">
            <Trans>Shared with you</Trans>
          </Link>
        </Stack>
      </Paper>
    </div>
  );
}

/** Starts a TensorBoard if there is none, then navigates to it. */
function StartTensorboard({ source, title }: { source: TensorboardSource; title: string }) {
  const { phase, logdir, message, retry } = useTensorboard(source);
  const job = source.kind === 'jobs';
  return (
    <div className={plain.center}>
      <Paper className={classes.card}>
        <Stack gap="md">
          <PageTitle tab={title}>{title}</PageTitle>
          {phase === 'failed' ? (
            <>
              <Notice tone="error">{message}</Notice>
              <Button onClick={retry} w="fit-content">
                <Trans>Try again</Trans>
              </Button>
            </>
          ) : (
            <div className={classes.waiting} role="status">
              <Loader size="sm" aria-hidden="true" />
              <span>{message ?? WAITING[phase]}</span>
            </div>
          )}
          {logdir && (
            <Text size="sm" c="dimmed">
              {job ? (
                <Trans>
                  It shows what is written to <code className={classes.path}>{logdir}</code>, the
                  TensorBoard folder of the job.
                </Trans>
              ) : (
                <Trans>
                  It shows what is written to <code className={classes.path}>{logdir}</code>, which
                  is <code>PORTAL_LOGDIR</code> in your notebooks.
                </Trans>
              )}
            </Text>
          )}
          {job ? (
            <Link to="/jobs/$id" params={{ id: source.id }}>
              <Trans>Back to the job</Trans>
            </Link>
          ) : (
            <Link to="/">
              <Trans>Your sessions</Trans>
            </Link>
          )}
        </Stack>
      </Paper>
    </div>
  );
}
