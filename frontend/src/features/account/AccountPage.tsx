import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useParams } from '@tanstack/react-router';
import { MySection } from '@/features/limits/MySection';
import { NotificationsSection } from '@/features/notify/NotificationsSection';
import { MyUsage } from '@/features/usage/MyUsage';
import classes from '@/ui/AccountSection.module.css';
import { NotFoundPage } from '@/ui/NotFoundPage';
import { PageTitle } from '@/ui/PageTitle';
import { AccountNav } from './AccountNav';
import { AppearanceSection } from './AppearanceSection';
import { LanguageSection } from './LanguageSection';
import { LoginsSection } from './LoginsSection';
import { PasswordSection } from './PasswordSection';
import { ProfileSection } from './ProfileSection';
import { SecondFactorSection } from './SecondFactorSection';
import { findSection, type Section } from './sections';
import { TokensSection } from './TokensSection';

/** The user's own account: profile, limits and usage, logins and notifications. */
export function AccountPage() {
  const { section: slug } = useParams({ strict: false });
  const section = findSection(slug);
  if (section === undefined) return <NotFoundPage />;
  const part = section.label;
  return (
    <>
      <div className={classes.title}>
        <PageTitle tab={t`${part} · Your account`}>
          <Trans>Your account</Trans>
        </PageTitle>
      </div>
      <div className={classes.page}>
        <AccountNav here={section} />
        <div>
          <Part slug={section.slug} />
        </div>
      </div>
    </>
  );
}

function Part({ slug }: Pick<Section, 'slug'>) {
  switch (slug) {
    case 'profile':
      return <ProfileSection />;
    case 'limits':
      return (
        <div className={classes.limits}>
          <MySection />
          <MyUsage />
        </div>
      );
    case 'notifications':
      return <NotificationsSection />;
    case 'password':
      return <PasswordSection />;
    case 'second-factor':
      return <SecondFactorSection />;
    case 'logins':
      return <LoginsSection />;
    case 'tokens':
      return <TokensSection />;
    case 'appearance':
      return (
        <>
          <AppearanceSection />
          <LanguageSection />
        </>
      );
  }
}
