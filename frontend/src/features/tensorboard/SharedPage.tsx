import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Skeleton, Stack, Text, Title, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { errorMessage } from '@/api/problem';
import type { SeenTensorboard } from '@/api/types';
import classes from '@/ui/CardList.module.css';
import { Icon } from '@/ui/icons';
import head from '@/ui/PageHead.module.css';
import { PageTitle } from '@/ui/PageTitle';
import { StateChip } from '@/ui/StateChip';
import { TryAgain } from '@/ui/TryAgain';
import { STATE_TONES } from '@/ui/tones';
import { aboutText, sharedWithMeQuery } from './sharing';
import { STATE_LABELS } from './TensorboardLine';

/** The TensorBoards that other users have shared with this one. */
export function SharedPage() {
  const { data, error, isPending, refetch } = useQuery(sharedWithMeQuery);
  return (
    <>
      <Link to="/jobs" className={head.back}>
        <Trans>← Your jobs</Trans>
      </Link>
      <div className={classes.top}>
        <PageTitle tab={t`Shared with you`}>
          <Trans>Shared with you</Trans>
        </PageTitle>
      </div>
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {isPending && <Skeleton height={90} radius="lg" aria-label={t`Loading`} />}
      {data?.length === 0 && <Nothing />}
      <div className={classes.list}>
        {data?.map((tensorboard) => (
          <Card key={tensorboard.id} tensorboard={tensorboard} />
        ))}
      </div>
    </>
  );
}

function Nothing() {
  return (
    <Paper className={classes.empty}>
      <Stack align="flex-start" gap="sm">
        <Title order={2} size="h4">
          <Trans>No TensorBoards are shared with you</Trans>
        </Title>
        <Text c="dimmed" maw={520}>
          <Trans>
            When another user shares the TensorBoard of a job or session with you or one of your
            groups, it is listed here. To share one, a user selects “Share” on the page of the job.
          </Trans>
        </Text>
      </Stack>
    </Paper>
  );
}

function Card({ tensorboard }: { tensorboard: SeenTensorboard }) {
  const { name, owner } = tensorboard;
  const heading = `shared-${tensorboard.id}`;
  const coming = tensorboard.state === 'starting' || tensorboard.state === 'queued';
  return (
    <Paper component="article" className={classes.card} aria-labelledby={heading}>
      <div className={classes.head}>
        <h2 className={classes.name} id={heading}>
          {name}
        </h2>
        <span className={classes.chip}>
          <StateChip
            tone={STATE_TONES[tensorboard.state]}
            label={STATE_LABELS[tensorboard.state]}
          />
        </span>
      </div>
      <div className={classes.foot}>
        <div className={classes.about}>
          <span className={classes.quiet}>
            {aboutText(tensorboard)}
            {tensorboard.parent_state === 'ended' && <> · {t`has ended`}</>}
          </span>
          {tensorboard.url === null && (
            <span className={classes.quiet}>
              {coming ? t`It will be ready shortly.` : t`Ask ${owner} to start it.`}
            </span>
          )}
        </div>
        {tensorboard.url !== null && (
          <Button
            component="a"
            variant="default"
            px="sm"
            href={tensorboard.url}
            target="_blank"
            rel="noopener"
            leftSection={<Icon name="chart" />}
          >
            <Trans>
              Open TensorBoard<VisuallyHidden component="span"> of {name}</VisuallyHidden>
            </Trans>
          </Button>
        )}
      </div>
    </Paper>
  );
}
