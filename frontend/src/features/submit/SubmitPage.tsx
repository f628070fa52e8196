import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, SegmentedControl, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, Suspense, useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { Cluster, JobDetail, ScriptImport } from '@/api/types';
import { ClusterPanel } from '@/features/cluster/ClusterPanel';
import { environmentsQuery } from '@/features/environments/queries';
import {
  jobQuery,
  recentTemplatesQuery,
  templateQuery,
  templatesQuery,
} from '@/features/jobs/queries';
import { resolvedResourcesQuery } from '@/features/resources/resolveResources';
import { translateExact } from '@/i18n/translate';
import { refetchFailed } from '@/lib/queries';
import { isClusterKnown } from '@/live/isClusterKnown';
import { useLive } from '@/live/store';
import formClasses from '@/ui/FormPage.module.css';
import { FormSkeleton } from '@/ui/FormSkeleton';
import { lazyPart } from '@/ui/lazyPart';
import { Notice } from '@/ui/Notice';
import head from '@/ui/PageHead.module.css';
import { PageTitle } from '@/ui/PageTitle';
import { TryAgain } from '@/ui/TryAgain';
import type { SubmitLink } from './link';
import { ScriptFile } from './ScriptFile';
import classes from './SubmitPage.module.css';
import { TemplateCards } from './TemplateCards';

const ScriptForm = lazyPart(async () => (await import('./ScriptForm')).ScriptForm);
const TemplateForm = lazyPart(async () => (await import('./TemplateForm')).TemplateForm);

/** A new job: from a template, from a custom script, or with the values of an earlier job. */
export function SubmitPage() {
  const {
    template,
    from: earlierId,
    own,
    imported: startedFromFile = false,
    ...link
  } = useSearch({ from: '/signed-in/jobs/new' });
  const navigate = useNavigate();
  const [importedFile, setImportedFile] = useState<ImportedFile | null>(null);
  const cluster = useLive((s) => s.cluster);
  const earlier = useQuery({ ...jobQuery(earlierId ?? ''), enabled: earlierId !== undefined });
  if (earlier.error)
    return <TryAgain error={errorMessage(earlier.error)} onRetry={() => void earlier.refetch()} />;
  if (cluster === null || (earlierId !== undefined && earlier.data === undefined))
    return <LoadingForm />;
  if (!isClusterKnown(cluster))
    return (
      <Notice tone="warning">
        <Trans>
          Slurm has not responded yet, so no jobs can be submitted. This page continues
          automatically as soon as it responds.
        </Trans>
      </Notice>
    );
  const job = earlierId === undefined ? undefined : earlier.data;
  const chosen = template ?? job?.template ?? undefined;
  if (chosen !== undefined)
    return (
      <LoadedTemplateForm
        key={JSON.stringify([chosen, job?.id, link])}
        name={chosen}
        cluster={cluster}
        earlierJob={job}
        link={link}
      />
    );
  if (job) return <LoadedScriptForm key={job.id} cluster={cluster} earlierJob={job} {...NO_FILE} />;
  const start = async (script: ScriptImport): Promise<void> => {
    // The new entry of the history comes first, because the form's draft belongs to it.
    await navigate({ to: '/jobs/new', search: { own: true, imported: true } });
    setImportedFile((before) => ({ script, count: (before?.count ?? 0) + 1 }));
  };
  const file = startedFromFile ? importedFile : null;
  return (
    <ScriptFile onScript={start}>
      {(button) =>
        own ? (
          <LoadedScriptForm
            key={file?.count ?? 0}
            cluster={cluster}
            earlierJob={undefined}
            importedScript={file?.script ?? null}
            startedFromFile={startedFromFile}
            fileButton={button}
          />
        ) : (
          <TemplateChoice fileButton={button} />
        )
      }
    </ScriptFile>
  );
}

interface ImportedFile {
  script: ScriptImport;
  /** the number of files imported so far: each has its own form */
  count: number;
}

const NO_FILE = { importedScript: null, startedFromFile: false } as const;

// each group: shape, number of fields
const GROUPS = {
  cards: [['cards', 9]],
  form: [
    ['fields', 4],
    ['fields', 6],
    ['wide', 2],
  ],
} as const;

/** A placeholder for a form and its title; that for a template's form has a description too. */
function LoadingForm({ isTemplate = false }: { isTemplate?: boolean }) {
  return (
    <>
      <Skeleton height={20} width="8rem" role="none" />
      <div className={head.top}>
        <Skeleton height={32} width="min(20rem, 60%)" role="none" />
      </div>
      {isTemplate && <Skeleton className={classes.about} height={48} width="60%" role="none" />}
      <div className={formClasses.columns}>
        <FormSkeleton groups={GROUPS.form} />
        <ClusterPanel />
      </div>
    </>
  );
}

/** The switch between templates and a custom script. */
function SourceSwitch({ value }: { value: 'templates' | 'own' }) {
  const navigate = useNavigate();
  return (
    <SegmentedControl
      className={classes.sourceSwitch}
      aria-label={t`Begin with`}
      value={value}
      onChange={(source) =>
        void navigate({
          to: '/jobs/new',
          search: source === 'own' ? { own: true } : {},
          replace: true,
        })
      }
      data={[
        { value: 'templates', label: t`Template` },
        { value: 'own', label: t`Custom script` },
      ]}
    />
  );
}

function TemplateChoice({ fileButton }: { fileButton: ReactNode }) {
  const { data, error, refetch } = useQuery(templatesQuery);
  const { data: recent } = useQuery(recentTemplatesQuery);
  return (
    <>
      <Link to="/jobs" className={head.back}>
        <Trans>← Your jobs</Trans>
      </Link>
      <div className={head.top}>
        <PageTitle tab={t`Submit a job`}>
          <Trans>Submit a job</Trans>
        </PageTitle>
      </div>
      <SourceSwitch value="templates" />
      {fileButton}
      {error ? (
        <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />
      ) : data === undefined ? (
        <FormSkeleton groups={GROUPS.cards} />
      ) : (
        <TemplateCards templates={data} recent={recent ?? []} />
      )}
    </>
  );
}

const runAgainTitle = ({ name }: JobDetail): string => t`Run ${name} again`;

interface FormProps {
  cluster: Cluster;
  earlierJob: JobDetail | undefined;
}

/** The form of a template, once the template and the environments are loaded. */
function LoadedTemplateForm({
  name,
  cluster,
  earlierJob,
  link,
}: FormProps & { name: string; link: SubmitLink }) {
  const template = useQuery(templateQuery(name));
  const { data, error } = template;
  const environments = useQuery(environmentsQuery);
  const [startOvers, setStartOvers] = useState(0);
  const failure = (data ? null : error) ?? (environments.data ? null : environments.error);
  if (failure)
    return (
      <>
        <TryAgain
          error={errorMessage(failure)}
          onRetry={() => refetchFailed(template, environments)}
        />
        <Button component={Link} to="/jobs/new" variant="default" mt="md">
          <Trans>All templates</Trans>
        </Button>
      </>
    );
  if (data === undefined || environments.data === undefined) return <LoadingForm isTemplate />;
  return (
    <WithPanel
      title={earlierJob ? runAgainTitle(earlierJob) : translateExact(data.title)}
      about={translateExact(data.description)}
      back={
        <Link to="/jobs/new" className={head.back}>
          <Trans>← All templates</Trans>
        </Link>
      }
    >
      {data.starter && !earlierJob && <Starter template={data.name} file={data.starter} />}
      <Suspense fallback={<FormSkeleton groups={GROUPS.form} />}>
        <TemplateForm
          key={startOvers}
          onStartOver={() => setStartOvers(startOvers + 1)}
          template={data}
          environments={environments.data}
          cluster={cluster}
          earlierJob={earlierJob}
          link={link}
        />
      </Suspense>
    </WithPanel>
  );
}

/** A download of the template's starter notebook, for a session. */
function Starter({ template, file }: { template: string; file: string }) {
  const url = `/api/v1/templates/${encodeURIComponent(template)}/starter`;
  return (
    <p className={classes.about}>
      <Trans>
        Or start from a notebook: save{' '}
        <a href={url} download={file}>
          {file}
        </a>{' '}
        and drop it into JupyterLab's file browser.
      </Trans>
    </p>
  );
}

interface LoadedScriptFormProps extends FormProps {
  importedScript: ScriptImport | null;
  startedFromFile: boolean;
  fileButton?: ReactNode;
}

/** The form of a custom script, once the environments and the default resources are loaded. */
function LoadedScriptForm({
  cluster,
  earlierJob,
  importedScript,
  startedFromFile,
  fileButton,
}: LoadedScriptFormProps) {
  const environments = useQuery(environmentsQuery);
  const { data, error } = environments;
  const defaults = useQuery(resolvedResourcesQuery({}, [{}]));
  const [startOvers, setStartOvers] = useState(0);
  const failure = (data ? null : error) ?? (defaults.data ? null : defaults.error);
  if (failure)
    return (
      <TryAgain
        error={errorMessage(failure)}
        onRetry={() => refetchFailed(environments, defaults)}
      />
    );
  const first = defaults.data?.items[0]?.resources;
  if (data === undefined || first === undefined) return <LoadingForm />;
  return (
    <WithPanel
      title={earlierJob ? runAgainTitle(earlierJob) : t`Submit a job`}
      back={
        <Link to="/jobs" className={head.back}>
          <Trans>← Your jobs</Trans>
        </Link>
      }
    >
      {!earlierJob && <SourceSwitch value="own" />}
      {fileButton}
      <Suspense fallback={<FormSkeleton groups={GROUPS.form} />}>
        <ScriptForm
          key={startOvers}
          environments={data}
          cluster={cluster}
          defaults={first}
          earlierJob={earlierJob}
          importedScript={importedScript}
          startedFromFile={startedFromFile}
          onStartOver={() => setStartOvers(startOvers + 1)}
        />
      </Suspense>
    </WithPanel>
  );
}

interface WithPanelProps {
  title: string;
  about?: string;
  back: ReactNode;
  children: ReactNode;
}

/** The page of a form: its title, and the form beside the cluster panel. */
function WithPanel({ title, about, back, children }: WithPanelProps) {
  return (
    <>
      {back}
      <div className={head.top}>
        <PageTitle tab={title}>{title}</PageTitle>
      </div>
      {about && <p className={classes.about}>{about}</p>}
      <div className={formClasses.columns}>
        <div className={classes.side}>{children}</div>
        <ClusterPanel />
      </div>
    </>
  );
}
