import { plural, t } from '@lingui/core/macro';
import { Paper } from '@mantine/core';
import type { ReactNode } from 'react';
import type { JobDetail } from '@/api/types';
import { FolderLink } from '@/features/files/FolderLink';
import { MaybeTerm } from '@/features/glossary/Term';
import { joinWithCommas } from '@/i18n/lists';
import { translateExact } from '@/i18n/translate';
import { Fold } from '@/ui/Fold';
import classes from './JobPage.module.css';
import { parameterText, requestedTexts } from './labels';

interface Fact {
  /** the glossary's English term for the label; null: it is a user-defined name */
  word: string | null;
  label: string;
  value: ReactNode;
}

function resourceFacts(job: JobDetail): Fact[] {
  const { partition, account, qos } = job.resources;
  const requested = requestedTexts(job);
  return [
    ...(requested.length > 0
      ? [{ word: 'Resources', label: t`Resources`, value: <Texts texts={requested} /> }]
      : []),
    ...(partition ? [{ word: 'Partition', label: t`Partition`, value: partition }] : []),
    ...(account ? [{ word: 'Account', label: t`Slurm account`, value: account }] : []),
    ...(qos ? [{ word: 'QOS', label: t`QOS`, value: qos }] : []),
  ];
}

function slurmFacts(job: JobDetail): Fact[] {
  const nodes = job.nodes.length > 0 ? joinWithCommas(job.nodes) : job.node;
  return [
    ...(job.job_id === null ? [] : [{ word: 'Slurm job', label: t`Slurm job`, value: job.job_id }]),
    ...(nodes
      ? [{ word: 'Node', label: job.nodes.length > 1 ? t`Nodes` : t`Node`, value: nodes }]
      : []),
    ...(job.exit_code === null
      ? []
      : [{ word: 'Exit code', label: t`Exit code`, value: job.exit_code }]),
  ];
}

function aboutFacts(job: JobDetail, title: string | undefined): Fact[] {
  return [
    ...(job.template
      ? [{ word: 'Template', label: t`Template`, value: title ?? job.template }]
      : []),
    ...(job.environment_title
      ? [
          {
            word: 'Environment',
            label: t`Environment`,
            value: translateExact(job.environment_title),
          },
        ]
      : []),
    ...(job.external ? [{ word: 'Origin', label: t`Origin`, value: t`outside the portal` }] : []),
    ...(job.workdir
      ? [
          {
            word: 'Working directory',
            label: t`Working directory`,
            value: <FolderLink folder={job.workdir} />,
          },
        ]
      : []),
    ...(job.logdir
      ? [
          {
            word: 'Log directory',
            label: t`TensorBoard folder`,
            value: <FolderLink folder={job.logdir} />,
          },
        ]
      : []),
  ];
}

function parameterFacts(job: JobDetail): Fact[] {
  return Object.entries(job.parameters).map(([name, value]) => ({
    word: null,
    label: name,
    value: parameterText(value),
  }));
}

/** Texts side by side, each without line breaks. */
function Texts({ texts }: { texts: string[] }) {
  return texts.map((text) => text.replaceAll(' ', '\u00a0')).join(' · ');
}

/** The requested resources, the facts from Slurm, and the parameters. */
export function JobFacts({ job, title }: { job: JobDetail; title: string | undefined }) {
  const parameters = parameterFacts(job);
  return (
    <div className={classes.boxes}>
      <Box title={t`Requested`} facts={resourceFacts(job)} />
      <Box title={t`Slurm details`} facts={slurmFacts(job)} />
      {parameters.length > 0 && <Box title={t`Parameters`} facts={parameters} />}
      <Box title={t`About`} facts={aboutFacts(job, title)} />
    </div>
  );
}

/** The number of facts shown before the others are folded. */
const INITIALLY_SHOWN = 30;

function Box({ title, facts }: { title: string; facts: Fact[] }) {
  if (facts.length === 0) return null;
  const others = facts.slice(INITIALLY_SHOWN);
  return (
    <Paper component="section" className={classes.box}>
      <h2 className={classes.heading}>{title}</h2>
      <FactList facts={facts.slice(0, INITIALLY_SHOWN)} />
      {others.length > 0 && (
        <Fold summary={plural(others.length, { one: '# more', other: '# more' })}>
          <FactList facts={others} />
        </Fold>
      )}
    </Paper>
  );
}

function FactList({ facts }: { facts: Fact[] }) {
  return (
    <dl className={classes.facts}>
      {facts.map(({ word, label, value }) => (
        <div key={label}>
          <dt>{word === null ? label : <MaybeTerm word={word}>{label}</MaybeTerm>}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
