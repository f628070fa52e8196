import { Paper } from '@mantine/core';
import type { ReactNode } from 'react';
import type { JobDetail } from '@/api/types';
import { MaybeTerm } from '@/features/glossary/Term';
import classes from './JobPage.module.css';
import { askedTexts, valueText } from './words';

interface Fact {
  label: string;
  value: ReactNode;
}

function resourceFacts(job: JobDetail): Fact[] {
  const { partition, account, qos } = job.resources;
  const asked = askedTexts(job);
  return [
    ...(asked.length > 0 ? [{ label: 'Resources', value: <Texts texts={asked} /> }] : []),
    ...(partition ? [{ label: 'Partition', value: partition }] : []),
    ...(account ? [{ label: 'Account', value: account }] : []),
    ...(qos ? [{ label: 'QOS', value: qos }] : []),
  ];
}

function slurmFacts(job: JobDetail): Fact[] {
  const nodes = job.nodes.length > 0 ? job.nodes.join(', ') : job.node;
  return [
    ...(job.job_id === null ? [] : [{ label: 'Slurm job', value: job.job_id }]),
    ...(nodes ? [{ label: job.nodes.length > 1 ? 'Nodes' : 'Node', value: nodes }] : []),
    ...(job.exit_code === null ? [] : [{ label: 'Exit code', value: job.exit_code }]),
  ];
}

function aboutFacts(job: JobDetail, title: string | undefined): Fact[] {
  return [
    ...(job.template ? [{ label: 'Template', value: title ?? job.template }] : []),
    ...(job.environment_title ? [{ label: 'Environment', value: job.environment_title }] : []),
    ...(job.external ? [{ label: 'Origin', value: 'outside the portal' }] : []),
    ...(job.workdir ? [{ label: 'Runs in', value: <code>{job.workdir}</code> }] : []),
    ...(job.logdir ? [{ label: 'Logs to', value: <code>{job.logdir}</code> }] : []),
  ];
}

function parameterFacts(job: JobDetail): Fact[] {
  return Object.entries(job.parameters).map(([name, value]) => ({
    label: name,
    value: valueText(value),
  }));
}

/** Side by side, each of them on one line. */
function Texts({ texts }: { texts: string[] }) {
  return texts.map((text) => text.replaceAll(' ', '\u00a0')).join(' · ');
}

/** What was asked for, where it ran, and with which parameters. */
export function JobFacts({ job, title }: { job: JobDetail; title: string | undefined }) {
  const parameters = parameterFacts(job);
  return (
    <div className={classes.boxes}>
      <Box title="Asked for" facts={resourceFacts(job)} />
      <Box title="In Slurm" facts={slurmFacts(job)} />
      {parameters.length > 0 && <Box title="Parameters" facts={parameters} own />}
      <Box title="About" facts={aboutFacts(job, title)} />
    </div>
  );
}

/** `own`: the labels are names of one's own, which no glossary explains. */
function Box({ title, facts, own }: { title: string; facts: Fact[]; own?: boolean }) {
  if (facts.length === 0) return null;
  return (
    <Paper component="section" className={classes.box}>
      <h2 className={classes.heading}>{title}</h2>
      <dl className={classes.facts}>
        {facts.map(({ label, value }) => (
          <div key={label}>
            <dt>{own ? label : <MaybeTerm>{label}</MaybeTerm>}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Paper>
  );
}
