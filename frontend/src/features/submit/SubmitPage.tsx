import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, SegmentedControl, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { sentence } from '@/api/problem';
import type { Cluster, JobDetail } from '@/api/types';
import { ClusterPanel } from '@/features/cluster/ClusterPanel';
import { isKnown } from '@/features/cluster/nodes';
import { environmentsQuery } from '@/features/environments/queries';
import { jobQuery, templateQuery, templatesQuery } from '@/features/jobs/queries';
import logClasses from '@/features/log/LogPage.module.css';
import { completionQuery } from '@/features/start/completion';
import startClasses from '@/features/start/StartPage.module.css';
import { translateExact } from '@/i18n/translate';
import { useLive } from '@/live/store';
import { Notice } from '@/ui/Notice';
import { PageTitle } from '@/ui/PageTitle';
import type { Filled } from './link';
import { ScriptForm } from './ScriptForm';
import classes from './SubmitPage.module.css';
import { TemplateCards } from './TemplateCards';
import { TemplateForm } from './TemplateForm';

/** A new job: from a template, from a script of one's own, or like an earlier one. */
export function SubmitPage() {
  const { template, from, own, ...filled } = useSearch({ from: '/member/jobs/new' });
  const cluster = useLive((s) => s.cluster);
  const earlier = useQuery({ ...jobQuery(from ?? ''), enabled: from !== undefined });
  if (earlier.error) return <Notice tone="error">{sentence(earlier.error)}</Notice>;
  if (cluster === null || (from !== undefined && earlier.data === undefined)) return <Loading />;
  if (!isKnown(cluster))
    return (
      <Notice tone="warning">
        <Trans>
          Slurm has not responded yet, so no jobs can be submitted. This page continues
          automatically as soon as it responds.
        </Trans>
      </Notice>
    );
  const job = from === undefined ? undefined : earlier.data;
  const chosen = template ?? job?.template ?? undefined;
  if (chosen !== undefined)
    return (
      <FromTemplate
        key={JSON.stringify([chosen, job?.id, filled])}
        name={chosen}
        cluster={cluster}
        from={job}
        filled={filled}
      />
    );
  if (own || job) return <FromScript key={job?.id ?? ''} cluster={cluster} from={job} />;
  return <Choose />;
}

function Loading() {
  return <Skeleton height={360} radius="lg" aria-label={t`Loading`} />;
}

/** Templates or a script: the two ways to begin. */
function Ways({ value }: { value: 'templates' | 'own' }) {
  const navigate = useNavigate();
  return (
    <SegmentedControl
      className={classes.ways}
      aria-label={t`Begin with`}
      value={value}
      onChange={(way) =>
        void navigate({
          to: '/jobs/new',
          search: way === 'own' ? { own: true } : {},
          replace: true,
        })
      }
      data={[
        { value: 'templates', label: t`A template` },
        { value: 'own', label: t`My own script` },
      ]}
    />
  );
}

function Choose() {
  const { data, error } = useQuery(templatesQuery);
  return (
    <>
      <Link to="/jobs" className={logClasses.back}>
        <Trans>← Your jobs</Trans>
      </Link>
      <div className={logClasses.top}>
        <PageTitle tab={t`Submit a job`}>
          <Trans>Submit a job</Trans>
        </PageTitle>
      </div>
      <Ways value="templates" />
      {error ? (
        <Notice tone="error">{sentence(error)}</Notice>
      ) : data === undefined ? (
        <Loading />
      ) : (
        <TemplateCards templates={data} />
      )}
    </>
  );
}

const runAgain = ({ name }: JobDetail): string => t`Run ${name} again`;

interface FromProps {
  cluster: Cluster;
  from: JobDetail | undefined;
}

function FromTemplate({
  name,
  cluster,
  from,
  filled,
}: FromProps & { name: string; filled: Filled }) {
  const { data, error } = useQuery(templateQuery(name));
  const environments = useQuery(environmentsQuery);
  const [round, setRound] = useState(0);
  const failure = (data ? null : error) ?? (environments.data ? null : environments.error);
  if (failure)
    return (
      <>
        <Notice tone="error">{sentence(failure)}</Notice>
        <Button component={Link} to="/jobs/new" variant="default" mt="md">
          <Trans>All templates</Trans>
        </Button>
      </>
    );
  if (data === undefined || environments.data === undefined) return <Loading />;
  return (
    <WithPanel
      title={from ? runAgain(from) : translateExact(data.title)}
      about={translateExact(data.description)}
      back={
        <Link to="/jobs/new" className={logClasses.back}>
          <Trans>← All templates</Trans>
        </Link>
      }
    >
      {data.starter && !from && <Starter template={data.name} file={data.starter} />}
      <TemplateForm
        key={round}
        onStartOver={() => setRound(round + 1)}
        template={data}
        environments={environments.data}
        cluster={cluster}
        from={from}
        filled={filled}
      />
    </WithPanel>
  );
}

/** The same framework in a notebook, to be opened in a session. */
function Starter({ template, file }: { template: string; file: string }) {
  const address = `/api/v1/templates/${encodeURIComponent(template)}/starter`;
  return (
    <p className={classes.about}>
      <Trans>
        Or start from a notebook: save{' '}
        <a href={address} download={file}>
          {file}
        </a>{' '}
        and drop it into JupyterLab’s file list.
      </Trans>
    </p>
  );
}

function FromScript({ cluster, from }: FromProps) {
  const { data, error } = useQuery(environmentsQuery);
  const defaults = useQuery(completionQuery({}, [{}]));
  const [round, setRound] = useState(0);
  const failure = (data ? null : error) ?? (defaults.data ? null : defaults.error);
  if (failure) return <Notice tone="error">{sentence(failure)}</Notice>;
  const first = defaults.data?.[0]?.resources;
  if (data === undefined || first === undefined) return <Loading />;
  return (
    <WithPanel
      title={from ? runAgain(from) : t`Submit a job`}
      back={
        <Link to="/jobs" className={logClasses.back}>
          <Trans>← Your jobs</Trans>
        </Link>
      }
    >
      {!from && <Ways value="own" />}
      <ScriptForm
        key={round}
        environments={data}
        cluster={cluster}
        defaults={first}
        from={from}
        onStartOver={() => setRound(round + 1)}
      />
    </WithPanel>
  );
}

interface WithPanelProps {
  title: string;
  about?: string;
  back: ReactNode;
  children: ReactNode;
}

function WithPanel({ title, about, back, children }: WithPanelProps) {
  return (
    <>
      {back}
      <div className={logClasses.top}>
        <PageTitle tab={title}>{title}</PageTitle>
      </div>
      {about && <p className={classes.about}>{about}</p>}
      <div className={startClasses.columns}>
        <div className={classes.side}>{children}</div>
        <ClusterPanel />
      </div>
    </>
  );
}
