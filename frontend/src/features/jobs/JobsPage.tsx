import {
  Button,
  Paper,
  SegmentedControl,
  Skeleton,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { sentence } from '@/api/problem';
import { PageTitle } from '@/app/PageTitle';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { JobCard } from './JobCard';
import classes from './Jobs.module.css';
import type { JobFilter } from './list';
import { useJobs } from './useJobs';

const TYPED_MS = 250;

/** One's jobs, newest first, as they change. */
export function JobsPage() {
  const { state = 'all', q = '' } = useSearch({ from: '/member/jobs' });
  const filter: JobFilter = { state, text: q };
  const filtered = state !== 'all' || q !== '';
  const { rows, titles, error, loading, more, reading, readMore, forget } = useJobs(filter);
  return (
    <>
      <div className={classes.top}>
        <PageTitle tab="Jobs">Your jobs</PageTitle>
        <div className={classes.toplinks}>
          <Button
            component={Link}
            to="/shared"
            variant="subtle"
            color="gray"
            leftSection={<Icon name="share" />}
          >
            Shared with you
          </Button>
          <Button component={Link} to="/jobs/new" leftSection={<Icon name="plus" />}>
            Submit a job
          </Button>
        </div>
      </div>
      {(filtered || rows.length > 0) && <Filters filter={filter} />}
      {error && <Notice tone="error">{sentence(error)}</Notice>}
      {loading && rows.length === 0 && <Skeleton height={130} radius="lg" aria-label="Loading" />}
      {!loading && !error && rows.length === 0 && (filtered ? <NoneFound /> : <NoneYet />)}
      <div className={classes.list}>
        {rows.map((job) => (
          <JobCard
            key={job.id}
            job={job}
            title={job.template === null ? undefined : titles.get(job.template)}
            onRemoved={forget}
          />
        ))}
        {more && (
          <Button variant="default" loading={reading} onClick={readMore}>
            Show older jobs
          </Button>
        )}
      </div>
    </>
  );
}

function Filters({ filter }: { filter: JobFilter }) {
  const navigate = useNavigate();
  const [text, setText] = useState(filter.text);
  const show = (state: JobFilter['state'], q: string): void => {
    const search = { ...(state === 'all' ? {} : { state }), ...(q === '' ? {} : { q }) };
    void navigate({ to: '/jobs', search, replace: true });
  };
  useEffect(() => setText(filter.text), [filter.text]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is typed is what asks
  useEffect(() => {
    if (text.trim() === filter.text) return;
    const timer = window.setTimeout(() => show(filter.state, text.trim()), TYPED_MS);
    return () => window.clearTimeout(timer);
  }, [text]);
  return (
    <search className={classes.filters}>
      <SegmentedControl
        aria-label="Which jobs"
        value={filter.state}
        onChange={(value) => show(value as JobFilter['state'], text.trim())}
        data={[
          { value: 'all', label: 'All' },
          { value: 'live', label: 'Live' },
          { value: 'ended', label: 'Ended' },
        ]}
      />
      <TextInput
        className={classes.find}
        type="search"
        aria-label="Find by name or Slurm job number"
        placeholder="Name or Slurm job number"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
    </search>
  );
}

function NoneYet() {
  return (
    <Paper className={classes.empty}>
      <Stack align="flex-start" gap="sm">
        <Title order={2} size="h4">
          Submit your first job
        </Title>
        <Text c="dimmed" maw={520}>
          A job runs a script on the cluster without you: it waits for its place, runs to its end,
          and its log and TensorBoard stay here. Begin with a template, or bring your own script.
        </Text>
        <Button
          component={Link}
          to="/jobs/new"
          size="md"
          mt="xs"
          leftSection={<Icon name="play" />}
        >
          Choose a template
        </Button>
      </Stack>
    </Paper>
  );
}

function NoneFound() {
  return (
    <Paper className={classes.empty}>
      <Stack align="flex-start" gap="sm">
        <Text>No job of yours is like this.</Text>
        <Button component={Link} to="/jobs" variant="default">
          Show all jobs
        </Button>
      </Stack>
    </Paper>
  );
}
