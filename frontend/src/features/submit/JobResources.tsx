import { t } from '@lingui/core/macro';
import type { Cluster } from '@/api/types';
import { Term } from '@/features/glossary/Term';
import { ResourceFields } from '@/features/start/ResourceFields';
import type { Problems } from '@/features/start/requestedResources';
import classes from '@/features/start/StartPage.module.css';
import type { JobDraft } from './request';

interface Props {
  cluster: Cluster;
  draft: JobDraft;
  problems: Problems;
  onChange: (draft: JobDraft) => void;
}

export function JobResources({ cluster, draft, problems, onChange }: Props) {
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
    </fieldset>
  );
}
