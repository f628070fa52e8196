import { t } from '@lingui/core/macro';
import { Paper } from '@mantine/core';
import type { Session } from '@/api/types';
import { MaybeTerm } from '@/features/glossary/Term';
import { Time } from '@/ui/Time';
import classes from './SessionPage.module.css';
import { type Fact, placeFacts, resourceFacts, timelineFacts } from './sessionFacts';

/** A session's node, resources and times. */
export function FactBoxes({ session }: { session: Session }) {
  return (
    <div className={classes.boxes}>
      <Box title={t`Resources`} facts={resourceFacts(session)} />
      <Box title={t`Where it runs`} facts={placeFacts(session)} />
      <Box title={t`Timeline`} facts={timelineFacts(session)} />
    </div>
  );
}

function Box({ title, facts }: { title: string; facts: Fact[] }) {
  if (facts.length === 0) return null;
  return (
    <Paper component="section" className={classes.box}>
      <h2>{title}</h2>
      <dl className={classes.facts}>
        {facts.map((fact) => (
          <div key={fact.label}>
            <dt>
              <MaybeTerm>{fact.label}</MaybeTerm>
            </dt>
            <dd>
              <Value {...fact} />
            </dd>
          </div>
        ))}
      </dl>
    </Paper>
  );
}

function Value({ value, time, code }: Fact) {
  if (time) return <Time at={value} />;
  return code ? <code>{value}</code> : value;
}
