#include "ctl/junit.h"

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <sstream>

#include "ctl/print.h"

namespace cardcage {
namespace {

using boost::property_tree::ptree;

ptree test_case(const Finding& finding) {
  ptree test;
  test.put("<xmlattr>.classname", std::string(finding.rule));
  test.put("<xmlattr>.name", std::string(finding.statement));
  const std::string evidence = printable(finding.outcome.evidence);
  switch (finding.outcome.verdict) {
    case Verdict::kPass:
      if (!evidence.empty()) test.put("system-out", evidence);
      break;
    case Verdict::kFail: test.put("failure.<xmlattr>.message", evidence); break;
    case Verdict::kSkipped: test.put("skipped.<xmlattr>.message", evidence); break;
  }
  return test;
}

}  // namespace

std::string junit_xml(const Report& report) {
  ptree suite;
  suite.put("<xmlattr>.name", printable(report.file.filename().native()));
  suite.put("<xmlattr>.tests", report.findings.size());
  suite.put("<xmlattr>.failures", report.count(Verdict::kFail));
  suite.put("<xmlattr>.skipped", report.count(Verdict::kSkipped));
  for (const Finding& finding : report.findings) suite.add_child("testcase", test_case(finding));
  ptree document;
  document.add_child("testsuite", suite);
  std::ostringstream text;
  boost::property_tree::write_xml(text, document, boost::property_tree::xml_writer_settings<std::string>(' ', 2));
  return text.str();
}

}  // namespace cardcage
