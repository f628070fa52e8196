import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useSearch } from '@tanstack/react-router';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { Notice } from '@/ui/Notice';
import { RestartableForm } from '@/ui/RestoredForm';
import { ImportForm } from './ImportForm';
import { ImportRun } from './ImportRun';

/** The page that imports users from a file, after a dry run. */
export function NewUsersPage() {
  return (
    <AdminFrame tab={t`Import users`} title={t`Import users`}>
      <Body />
    </AdminFrame>
  );
}

function Body() {
  const me = useMe();
  const { import: id } = useSearch({ from: '/signed-in/admin/new/users' });
  if (id !== undefined) return <ImportRun key={id} id={id} />;
  return mayChange(me) ? (
    <RestartableForm>{(startOver) => <ImportForm onStartOver={startOver} />}</RestartableForm>
  ) : (
    <Notice tone="info">
      <Trans>Only administrators can import users. You have read access.</Trans>
    </Notice>
  );
}
