import { t } from '@lingui/core/macro';
import { Suspense } from 'react';
import type { Cluster } from '@/api/types';
import { Term } from '@/features/glossary/Term';
import type { Purpose } from '@/features/start/completion';
import { ResourceFields } from '@/features/start/ResourceFields';
import type { Problems } from '@/features/start/requestedResources';
import classes from '@/features/start/StartPage.module.css';
import { lazyPart } from '@/ui/lazyPart';
import type { JobDraft } from './request';

const ChoiceWaits = lazyPart(
  async () => (await import('@/features/start/ChoiceWaits')).ChoiceWaits,
);

interface Props {
  cluster: Cluster;
  purpose: Purpose;
  draft: JobDraft;
  problems: Problems;
  onChange: (draft: JobDraft) => void;
}

export function JobResources({ cluster, purpose, draft, problems, onChange }: Props) {
  return (
    <fieldset className={classes.group}>
      <legend>
        <Term word="Resources">{t`Resources`}</Term>
      </legend>
      <ResourceFields
        cluster={cluster}
        draft={draft.node}
        problems={problems}
        onChange={(node) => onChange({ ...draft, node })}
        nodes={{
          value: draft.nodes,
          onChange: (nodes) => onChange({ ...draft, nodes }),
        }}
      />
      {(draft.nodes ?? 1) === 1 && (
        <Suspense>
          <ChoiceWaits cluster={cluster} draft={draft.node} purpose={purpose} withTypes />
        </Suspense>
      )}
    </fieldset>
  );
}
