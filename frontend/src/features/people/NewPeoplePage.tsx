import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useSearch } from '@tanstack/react-router';
import { mayChange } from '@/features/account/roles';
import { useMe } from '@/features/account/useMe';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { Notice } from '@/ui/Notice';
import { Anew } from '@/ui/StartOver';
import { ImportForm } from './ImportForm';
import { ImportRun } from './ImportRun';

/** Many people join at once: from a file, tried out first. */
export function NewPeoplePage() {
  return (
    <AdminFrame tab={t`Import people`} title={t`Import people`}>
      <Body />
    </AdminFrame>
  );
}

function Body() {
  const me = useMe();
  const { import: id } = useSearch({ from: '/member/admin/new/people' });
  if (id !== undefined) return <ImportRun key={id} id={id} />;
  return mayChange(me) ? (
    <Anew>{(startOver) => <ImportForm onStartOver={startOver} />}</Anew>
  ) : (
    <Notice tone="info">
      <Trans>Only administrators can import people. You may look at them.</Trans>
    </Notice>
  );
}
