import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Anchor } from '@mantine/core';
import { Link, useSearch } from '@tanstack/react-router';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { AllLimits } from './AllLimits';
import { DefaultLimit } from './DefaultLimit';
import { DriftSection } from './DriftSection';
import { GroupView } from './GroupView';
import classes from './Limits.module.css';
import type { LimitsSearch } from './search';
import { UserView } from './UserView';

/** All limits, or those of the user or group in the address. */
export function LimitsPage() {
  const search = useSearch({ from: '/signed-in/admin/limits' });
  const title = titleOf(search);
  return (
    <AdminFrame
      tab={title}
      title={title}
      aside={
        (search.user ?? search.group ?? search.default) !== undefined && (
          <Anchor component={Link} to="/admin/limits" size="sm">
            <Trans>All limits</Trans>
          </Anchor>
        )
      }
    >
      <div className={classes.sections}>
        <Content search={search} />
      </div>
    </AdminFrame>
  );
}

function titleOf(search: LimitsSearch): string {
  const name = search.user ?? search.group;
  if (name !== undefined) return t`Limits of ${name}`;
  return search.default ? t`Limits of all users` : t`Limits`;
}

/** The keys reset the forms when the page shows another user or group. */
function Content({ search }: { search: LimitsSearch }) {
  if (search.user !== undefined) return <UserView key={search.user} username={search.user} />;
  if (search.group !== undefined) return <GroupView key={search.group} group={search.group} />;
  if (search.default) return <DefaultLimit />;
  return (
    <>
      <DriftSection />
      <AllLimits />
    </>
  );
}
